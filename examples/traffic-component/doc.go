// SPDX-License-Identifier: Apache-2.0

// The program traffic-component is an example of a component that routes traffic to the pods of InPlaceSets, and takes part
// in their updates.
//
// It follows the InPlaceSets that declare it:
//
//	metadata:
//	  annotations:
//	    cafe.sofastack.io/traffic-components: lb
//
// For each of them it keeps the backends, which are the pods that get traffic, in an EndpointSlice of the name
// <set>-<component>, and its finalizer on every pod that is among them:
//
//   - A pod whose gate InPlaceUpdateReady is open, and that is ready, first gets the finalizer and then becomes a backend.
//   - A pod whose gate is closed, or that is being deleted, first leaves the backends. When its connections had the time
//     to end (--delay), the finalizer goes, and with it the last thing that the update or the deletion waited for.
//
// role.yaml is what it needs in a cluster: a service account, and the rights that it uses.
//
// What to do with a pod is decided by Next, which is pure. The program only ever touches its own finalizer and its own
// EndpointSlices. It remembers since when pods drain; after a restart their time begins anew, because nobody knows what
// happened in between.
package main
