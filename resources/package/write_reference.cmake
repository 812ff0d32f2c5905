# Writes what secateur-cli says of itself: OUT/man/PAGE.1.gz, OUT/bash/PROGRAM, OUT/zsh/_PROGRAM, OUT/fish/PROGRAM.fish.
# cmake -D PROGRAM=.../secateur-cli -D OUT=FOLDER -D GZIP=/usr/bin/gzip -P write_reference.cmake

function(run output)
    execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        list(JOIN ARGN " " arguments)
        message(FATAL_ERROR "secateur-cli ${arguments}: exit status ${status}")
    endif()
    set(${output} "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${OUT}) # pages of verbs that are no more
run(pages man --json)
string(JSON count LENGTH "${pages}" items)
math(EXPR last "${count} - 1")
foreach(index RANGE ${last})
    string(JSON name GET "${pages}" items ${index} id)
    string(JSON text GET "${pages}" items ${index} text)
    file(WRITE ${OUT}/man/${name}.1 "${text}")
    # Without name and time, so that equal pages are equal files.
    execute_process(COMMAND ${GZIP} -9 -n -f ${OUT}/man/${name}.1 COMMAND_ERROR_IS_FATAL ANY)
endforeach()

foreach(program secateur-cli secateur)
    run(text completions bash --program ${program})
    file(WRITE ${OUT}/bash/${program} "${text}")
    run(text completions zsh --program ${program})
    file(WRITE ${OUT}/zsh/_${program} "${text}")
    run(text completions fish --program ${program})
    file(WRITE ${OUT}/fish/${program}.fish "${text}")
endforeach()
file(TOUCH ${OUT}/written)
