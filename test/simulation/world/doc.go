// SPDX-License-Identifier: Apache-2.0

// Package world runs the real reconciler of a kind of set in a world that is wholly under control: an API server in memory
// (package api), a cache that lags behind it, the pure model of a node, a clock that only moves when told, and a scheduler that
// chooses from a seed what happens next. The same seed always tells the same story.
//
// A seed also chooses what its story is about: hooks, claims, surge, orders and sizes, everything together, or anything. Features that
// must meet for a fault to show meet in stories that are about them, and a test counts that each feature does its work often enough.
//
// While it runs, a judge looks at every write of the manager, in the true state of the world and not in the manager's view of
// it, and compares it with what the spec that the manager had seen allows. At the end people stop editing, faults stop, and the
// set must converge and be left alone.
//
// Hooks have their provider, who registers on pods, lets them go late or not at all while the storm lasts, and finishes in calm
// time; another program takes pods out of service by the same condition. The judge sees to it that nothing is done to a pod that
// its hooks hold, by the hooks that the manager had seen, and that no entry of another program is lost.
//
// What another actor did and the manager cannot know yet is not held against it: a pod that a node has just lost still counts as
// available until the loss was delivered. What the manager itself did always counts, seen or not: that is what freshness is for.
//
// A manager that is killed may start with a view that is older than what its former life has done. Until that view has caught up,
// the numbers of a set cannot be held against it, only what one conditional write shows; the names of new pods, which depend on the
// set alone, keep it from most mistakes even then.
//
// Everything in here is the same for all kinds. A kind adds its users, and the rules by which its controller is judged: packages
// test/simulation/cloneset and its neighbours. CafeDeployments, RolloutTraits and Applications have several controllers in one manager, and
// judges of their own. What the stories of the latter two have in common is in the packages workload and chronicle.
//
//	go test ./test/simulation/cloneset -run TestRandom -seed 4711 -v     tells the story of one seed
//	go test ./test/simulation/cloneset -run TestRandom -seeds 100000     looks further
//	go test ./test/simulation/cloneset -run TestRelease -update          writes the golden transcripts anew
package world
