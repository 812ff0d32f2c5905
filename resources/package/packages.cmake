# Settings of cpack: one Debian package per build.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ${package})
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR Secateur)
set(CPACK_PACKAGE_CONTACT ${SECATEUR_MAINTAINER})
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE secateur)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# dpkg-shlibdeps adds the libraries that the programs link to. libtorch is content with the reference BLAS, which is many
# times slower than OpenBLAS. Qt loads its platforms (xcb, wayland, offscreen) as plugins, which nothing links to.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libopenblas0-openmp | libopenblas0")
if(SECATEUR_BUILD_GUI)
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", qt6-qpa-plugins, fonts-liberation | fonts-dejavu-core")
    set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "qt6-wayland, qt6-translations-l10n")
    set(other secateur-cli)
    set(CPACK_DEBIAN_PACKAGE_PROVIDES "secateur-cli (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
    set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "workbench for studying and pruning transformers")
    set(parts "This package holds the window, secateur, and the command line, secateur-cli,
with all its figures and reports. On a server without a display the package
secateur-cli is enough.")
else()
    set(other secateur)
    set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "command line for studying and pruning transformers")
    set(parts "This package holds the command line, secateur-cli, built without Qt. It
writes the numbers of figures, but no pictures and no reports; the package
secateur does both, and has a window.")
endif()
# Both packages hold the program secateur-cli.
set(CPACK_DEBIAN_PACKAGE_CONFLICTS ${other})
set(CPACK_DEBIAN_PACKAGE_REPLACES ${other})
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Secateur computes published importance metrics of the heads, layers and
neurons of a transformer, cuts heads, neurons, sublayers and blocks by hand
or by a published strategy, measures what the cuts cost, trains what is
left, and exports smaller checkpoints. It reads Hugging Face folders and
GGUF files.

${parts}")
include(CPack)
