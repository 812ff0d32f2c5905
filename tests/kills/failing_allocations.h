#pragma once

namespace secateur::test {

// Replaces operator new and posix_memalign() for this program and all its libraries: containers, texts and tensors. Not
// malloc(), with which HDF5 and Qt allocate: Qt ends the process if it fails.

/// From now on counts the allocations of this thread. Allocation number `number`, counted from 1, fails; with 0 none.
void failAtAllocation(long number);
/// Allocations work again. Returns the number of those that were counted.
long stopFailingAllocations();

} // namespace secateur::test
