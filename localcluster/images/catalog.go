// SPDX-License-Identifier: Apache-2.0

package images

// Repositories are the names that every tag exists under. Two of them make a pod whose containers are told apart.
var Repositories = []string{"registry.test/app", "registry.test/sidecar"}

// Pause is the image that holds a pod's namespaces.
const Pause = "registry.test/pause:1"

// tag is one image of a repository: the server with an environment.
type tag struct {
	name string
	// env is added to VERSION and IMAGE.
	env []string
	// as is the tag whose image this is, byte for byte: the same digest under another name.
	as string
}

var tags = []tag{
	{name: "v1"},
	{name: "v2"},
	{name: "v3"},
	{name: "v1-again", as: "v1"},
	{name: "broken", env: []string{"READY_AFTER=never"}},
	{name: "crash", env: []string{"CRASH=yes"}},
	{name: "slow-10s", env: []string{"READY_AFTER=10s"}},
}
