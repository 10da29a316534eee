// SPDX-License-Identifier: Apache-2.0

// Package localcluster runs a real Kubernetes control plane on this machine, with simulated
// nodes, and needs nothing but Go. bin/localcluster is its command; try `localcluster up`. As root on
// Linux it also runs one real node, with packages of the system's.
//
// # What runs
//
// Five processes or six, each in a session of its own, with its log in .local/logs:
//
//	etcd                      data in .local/etcd, reachable with client certificates only
//	kube-apiserver            RBAC, audit log in .local/audit.log, listens on 127.0.0.1 only
//	kube-controller-manager   all default controllers
//	kube-scheduler
//	nodes                     `localcluster nodes`: all simulated nodes (package localcluster/nodes)
//	real-node                 with `up --real-node`: containerd and a kubelet (package localcluster/realnode)
//
// The first four are the real programs, built from their Go modules by Build into bin/k8s. The
// build-only module hack/kubernetes pins their versions. The first build takes about ten minutes on
// two cores; a stamp beside the binaries lets later calls skip it.
// LayOut makes a root for clusters of another version, with binaries of its own.
//
// # What is simulated
//
// All nodes but a real one. No container ever runs: package test/node says what a kubelet would report, and one process
// reports it for all nodes. So pods get statuses, IPs, restarts and failures like on a cluster, but
// there is nothing to exec into, no logs and no traffic. Claims of the default StorageClass `standard`
// are bound to made-up volumes, resized when asked, and removed when released. An image's tag asks for
// trouble (`broken`, `crash`, `missing`, `slow-30s`; see test/node), and `localcluster node full|cut NAME`
// makes a node full or silences it.
//
// # State
//
// Everything lives under .local in the repository's root:
//
//	kubeconfig     the administrator's; mode 0600, as are all keys
//	cluster.json   what Up decided: ports and the nodes' settings
//	pki/ conf/     certificates and keys; the components' own configuration
//	etcd/ logs/    data and logs
//	node/          what belongs to the real node
//	run/           one file per process: its pid and when it started, so that a pid that
//	               the system gave to another program is never killed
//	audit.log      one JSON line per write, with object for pods, claims, revisions and CloneSets
//
// Up is safe to call at any time: on a healthy cluster it does nothing, a half-dead one it stops and
// starts again with its data and ports. Down ends when every process is really gone, and removes the
// state unless it is asked to keep it.
//
// # Not for production
//
// etcd does not sync its writes to the disk, for speed: a power failure can lose the cluster.
package localcluster
