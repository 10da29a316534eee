// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// traces are what a node leaves outside of its folder and its namespaces, as it was before.
type traces struct {
	// Kernel has the settings that a kubelet changes, by their files.
	Kernel map[string]string `json:"kernel"`
	// Folders were made because something of the node's is mounted there.
	Folders []string `json:"folders"`
}

// tunables are the kernel settings that a kubelet changes at its start.
var tunables = []string{
	"/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom", "/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops",
	"/proc/sys/kernel/keys/root_maxkeys", "/proc/sys/kernel/keys/root_maxbytes",
}

// fixedPlaces are where containerd, plugins and the kubelet keep things whatever one configures.
var fixedPlaces = []string{"/run/containerd", "/run/netns", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers"}

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
	if err := note(s); err != nil {
		return err
	}
	for _, place := range fixedPlaces {
		if err := errors.Join(os.MkdirAll(place, 0o755), os.MkdirAll(s.place(place), 0o755)); err != nil {
			return fmt.Errorf("making a folder to mount on: %w", err)
		}
	}
	return makeBridge(s)
}

// place is the folder that the node sees at one of the fixed places.
func (s Settings) place(path string) string {
	return s.in("places", strings.ReplaceAll(path[1:], "/", "-"))
}

func note(s Settings) error {
	before := traces{Kernel: map[string]string{}}
	for _, path := range tunables {
		value, err := os.ReadFile(path)
		if err != nil {
			continue // this kernel does not have it, so nothing will change it
		}
		before.Kernel[path] = string(value)
	}
	for _, place := range fixedPlaces {
		for at := place; ; at = filepath.Dir(at) {
			if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
				break
			}
			before.Folders = append(before.Folders, at)
		}
	}
	content, err := json.MarshalIndent(before, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the machine's settings: %w", err)
	}
	if err := os.WriteFile(s.in("traces.json"), content, 0o600); err != nil {
		return fmt.Errorf("noting the machine's settings: %w", err)
	}
	return nil
}

// Clean puts back what Prepare noted and removes the node's folder, when the node's first process is gone. It is no
// error if there was no node. It fails if something of the node still runs.
func Clean(s Settings) error {
	content, err := os.ReadFile(s.in("traces.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading what the node changed: %w", err)
	}
	var before traces
	if err := json.Unmarshal(content, &before); err != nil {
		return fmt.Errorf("%s is damaged: put the machine's settings back yourself and remove the folder: %w", s.in("traces.json"), err)
	}
	if err := removeGroups(s); err != nil {
		return err
	}
	if err := removeBridge(s); err != nil {
		return err
	}
	var errs []error
	for path, value := range before.Kernel {
		if now, err := os.ReadFile(path); err == nil && string(now) == value {
			continue
		}
		errs = append(errs, os.WriteFile(path, []byte(value), 0))
	}
	// Longest first: a folder made in a folder made.
	slices.SortFunc(before.Folders, func(a, b string) int { return len(b) - len(a) })
	for _, folder := range before.Folders {
		if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) && !inUse(folder) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("putting back what the node changed: %w", err)
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		return fmt.Errorf("removing the node's folder: %w", err)
	}
	return nil
}

// inUse is true for a folder where somebody else put something meanwhile.
func inUse(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && len(entries) > 0
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
	if _, err := net.InterfaceByName(s.mark()); err != nil {
		return nil // there is none
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
