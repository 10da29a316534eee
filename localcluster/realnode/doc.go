// SPDX-License-Identifier: Apache-2.0

// Package realnode runs one real node: containerd and a kubelet, with the programs of the system's packages, beside
// the simulated nodes of a local cluster. It needs Linux and root; Missing says what else.
//
// # Three parts
//
//	Prepare   before: the node's folder, its bridge, and a note of what will have to be put back
//	Run       in the first process of a process and mount namespace of its own (Isolation): starts containerd, imports
//	          the images, starts the kubelet, and starts again what ends
//	Clean     after, also after a crash: what Prepare noted is put back
//
// When the first process ends, for whatever reason, the kernel kills everything in its namespace (kubelet, containerd,
// shims, containers) and with it go all mounts and the pods' networks. So no leftover can outlive it but what
// Clean knows: the bridge, the control groups, kernel settings that a kubelet changes, and the folder.
//
// # What it touches
//
// What containerd, the CNI plugins and the kubelet keep at fixed places (/var/lib/kubelet, /var/lib/cni, ...) is kept in
// the node's folder, which the mount namespace shows them there; a kubelet that the machine may have is not disturbed.
// Pods have addresses of one small network on the bridge, and no route to anywhere else. The kubelet listens on the
// bridge's own address, containerd's streaming server on 127.0.0.1, and nothing else listens.
//
// # Who lands there
//
// The Node is tainted (Taint) and labelled (Label): a pod has to tolerate the one and select the other.
package realnode
