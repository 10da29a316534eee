// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// longestSocket is the kernel's limit, without the zero at the end.
const longestSocket = 107

// Prepare makes the node's folder and its bridge, and notes what Clean has to put back. What an earlier node left is
// cleaned first.
func Prepare(s Settings) error {
	if missing := Missing(); len(missing) > 0 {
		return errors.New(strings.Join(missing, "; "))
	}
	if len(s.socket()) > longestSocket {
		return fmt.Errorf("the path %s is too long for a socket: at most %d bytes are possible", s.socket(), longestSocket)
	}
	if err := Clean(s); err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("making the node's folder: %w", err)
	}
	if err := thisMachine.join(s); err != nil {
		return err
	}
	for _, place := range thisMachine.places {
		if err := os.MkdirAll(s.place(place), 0o755); err != nil {
			return fmt.Errorf("making the node's own %s: %w", place, err)
		}
	}
	return makeBridge(s)
}

// place is the folder that the node sees at one of the machine's places.
func (s Settings) place(path string) string {
	return s.in("places", strings.ReplaceAll(path[1:], "/", "-"))
}

// Clean puts back what Prepare noted and removes the node's folder, when the node's first process is gone. It is no
// error if there was no node. It fails if something of the node still runs.
func Clean(s Settings) error {
	if !exists(s.Dir) {
		return nil
	}
	if err := removeGroups(s); err != nil {
		return err
	}
	if err := removeBridge(s); err != nil {
		return err
	}
	if err := thisMachine.leave(s); err != nil {
		return err
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		return fmt.Errorf("removing the node's folder: %w", err)
	}
	return nil
}

// makeBridge makes the bridge with its address. Nothing is attached to it but pods.
func makeBridge(s Settings) error {
	for _, args := range [][]string{
		{"link", "add", "name", s.mark(), "type", "bridge"},
		{"addr", "add", netip.PrefixFrom(Address(s.Network), s.Network.Bits()).String(), "dev", s.mark()},
		{"link", "set", s.mark(), "up"},
	} {
		if output, err := command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("making the pods' bridge: ip %s: %w: %s", strings.Join(args, " "), err, output)
		}
	}
	return nil
}

func removeBridge(s Settings) error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("looking for the pods' bridge: %w", err)
	}
	if !slices.ContainsFunc(interfaces, func(i net.Interface) bool { return i.Name == s.mark() }) {
		return nil
	}
	if output, err := command("ip", "link", "delete", s.mark()).CombinedOutput(); err != nil {
		return fmt.Errorf("removing the pods' bridge %s: %w: %s", s.mark(), err, output)
	}
	return nil
}

// NetworkFree reports whether no interface of this machine has an address in the network.
func NetworkFree(network netip.Prefix) bool {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, address := range addresses {
		if used, err := netip.ParsePrefix(address.String()); err == nil && used.Overlaps(network) {
			return false
		}
	}
	return true
}
