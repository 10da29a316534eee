// SPDX-License-Identifier: Apache-2.0

// Package application tells stories of Applications and AppRollouts: the real controllers of both, with those of the workloads, in one
// manager, on a simulated API server that knows who owns which field. The controllers of Kubernetes are the small models of package
// kube, and an autoscaler acts by the load that the story tells it. Templates are rendered in this process, each request once.
//
// Golden transcripts tell each way that a release can go, in place and with Deployments side by side. A judge compares each write with
// what the plan allows, with whose object it is, and with what revisions are there, and at the end a checker looks at every object there
// is. Random stories, with managers that crash and writes that fail, have the same judge.
package application
