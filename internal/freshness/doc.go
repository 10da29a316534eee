// SPDX-License-Identifier: Apache-2.0

// Package freshness knows whether the cache has seen a controller's own last writes.
//
// A controller that decides on a view older than its own writes does things twice. So each write is
// noted under the UID of the object it was made for, with the resourceVersion that the server answered,
// and the next decision for that object waits until the cache shows it. The wait is bounded: what the
// cache does not show in time is read live, so a lost event never blocks an object.
package freshness
