// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"path/filepath"
)

const (
	// Name is that of the Node object.
	Name = "real-0"
	// Label is the key of the Node's label, with the value "true".
	Label = "slipway.dev/real"
	// Taint is the key of its taint NoSchedule, with the same value.
	Taint = Label
)

// Settings say where a node has its things. All paths are absolute.
type Settings struct {
	// Dir is the node's own folder. It must not be too deep: sockets in it have names of at most 107 bytes.
	Dir string
	// Logs is where containerd, the kubelet and containers write.
	Logs string
	// Network is what pods get their addresses from: a /24.
	Network netip.Prefix
	// Port is the kubelet's, at the bridge's address.
	Port int
	// Kubelet is the program, and Kubeconfig its access to the API server.
	Kubelet, Kubeconfig string
	// Authority, Certificate and Key are what the kubelet serves with, and whose clients it trusts.
	Authority, Certificate, Key string
	// Programs is the folder with what the images hold.
	Programs string
}

// networks are what addresses are taken from: a range for measurements between machines, which no network that people
// use is likely to hold.
var networks = netip.MustParsePrefix("198.18.0.0/15")

const countOfNetworks = 512

// ChooseNetwork gives a network that is free now. Where it starts to look derives from the root, so that clusters of
// several clones stay apart.
func ChooseNetwork(root string, free func(netip.Prefix) bool) (netip.Prefix, error) {
	first := networks.Addr().As4()
	start := int(hash(root) % countOfNetworks)
	for i := range countOfNetworks {
		n := (start + i) % countOfNetworks
		network := netip.PrefixFrom(netip.AddrFrom4([4]byte{first[0], first[1] + byte(n/256), byte(n % 256), 0}), 24)
		if free(network) {
			return network, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("no free network in %s", networks)
}

// Address is the bridge's own, the first of the network. The kubelet listens there.
func Address(network netip.Prefix) netip.Addr { return network.Masked().Addr().Next() }

func hash(text string) uint32 {
	sum := fnv.New32a()
	sum.Write([]byte(text))
	return sum.Sum32()
}

// mark is a name of at most 15 characters, which is all that the kernel allows for a bridge, for what is outside of the folder.
func (s Settings) mark() string { return fmt.Sprintf("slipway%08x", hash(s.Dir)) }

func (s Settings) in(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}

func (s Settings) socket() string { return s.in("containerd.sock") }

// Socket is where containerd listens, for its command ctr.
func (s Settings) Socket() string { return s.socket() }
