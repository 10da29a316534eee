// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"

	"slipway.dev/slipway/localcluster/nodes"
)

// record is what Up decided and a later Up, Down or Status needs to know.
type record struct {
	// Ports by the name of what listens there.
	Ports map[string]int `json:"ports"`
	Nodes nodes.Settings `json:"nodes"`
	// RealNode says that there is one beside the simulated nodes. Network is what its pods' addresses are from, and
	// Programs the folder with what its images hold.
	RealNode bool         `json:"realNode"`
	Network  netip.Prefix `json:"network"`
	Programs string       `json:"programs"`
}

const (
	portAPI        = "kube-apiserver"
	portControl    = "kube-controller-manager"
	portScheduler  = "kube-scheduler"
	portEtcd       = "etcd"
	portEtcdPeer   = "etcd-peer"
	portKubelet    = "kubelet" // at the bridge's address, but chosen with the others
	firstPort      = 20000
	countOfPorts   = 10000 // below the range that systems give to outgoing connections
	loopbackServer = "127.0.0.1"
)

var portNames = []string{portAPI, portControl, portScheduler, portEtcd, portEtcdPeer, portKubelet}

// readRecord returns nil if there is no cluster.
func readRecord(files layout) (*record, error) {
	content, err := os.ReadFile(files.record())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's record: %w", err)
	}
	var r record
	if err := json.Unmarshal(content, &r); err != nil {
		return nil, fmt.Errorf("the cluster's record %s is damaged (`localcluster down` starts afresh): %w", files.record(), err)
	}
	return &r, nil
}

func (r *record) write(files layout) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the cluster's record: %w", err)
	}
	return writeSecret(files.record(), append(content, '\n'))
}

// choosePorts gives a free loopback port to each name. It keeps what an earlier start had where that
// is still free. The search starts at a place that derives from the root, so that clusters of
// several clones stay apart even before they listen.
func choosePorts(root string, earlier map[string]int, free func(int) bool) (map[string]int, error) {
	sum := fnv.New32a()
	sum.Write([]byte(root))
	next := int(sum.Sum32() % countOfPorts)
	ports, taken := map[string]int{}, map[int]bool{}
	for _, name := range portNames {
		if port := earlier[name]; port != 0 && free(port) {
			ports[name], taken[port] = port, true
		}
	}
	for _, name := range portNames {
		for tried := 0; ports[name] == 0; tried++ {
			if tried == countOfPorts {
				return nil, fmt.Errorf("no free port on %s for %s", loopbackServer, name)
			}
			port := firstPort + next
			next = (next + 1) % countOfPorts
			if !taken[port] && free(port) {
				ports[name], taken[port] = port, true
			}
		}
	}
	return ports, nil
}

// portFree reports whether a process could listen on the loopback port now.
func portFree(port int) bool {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func address(port int) string { return net.JoinHostPort(loopbackServer, strconv.Itoa(port)) }
