// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func anySettings(dir string) Settings {
	return Settings{
		Dir: dir, Logs: "/l", Network: netip.MustParsePrefix("198.18.7.0/24"), Port: 20001,
		Kubelet: "/k", Kubeconfig: "/kc", Authority: "/ca", Certificate: "/c", Key: "/key", Programs: "/p",
	}
}

func TestANetworkIsChosenByTheRootAndMustBeFree(t *testing.T) {
	everything := func(netip.Prefix) bool { return true }
	first, err := ChooseNetwork("/one", everything)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ChooseNetwork("/one", everything)
	if err != nil || again != first {
		t.Errorf("the same root: got %v, %v; want %v", again, err, first)
	}
	next, err := ChooseNetwork("/one", func(n netip.Prefix) bool { return n != first })
	if err != nil || next == first || !networks.Contains(next.Addr()) || next.Bits() != 24 {
		t.Errorf("the first being taken: got %v, %v; want another /24 of %v", next, err, networks)
	}
	if got, err := ChooseNetwork("/one", func(netip.Prefix) bool { return false }); err == nil {
		t.Errorf("all being taken: got %v, want an error", got)
	}
}

func TestEveryNetworkCanBeChosen(t *testing.T) {
	seen := map[netip.Prefix]bool{}
	for range countOfNetworks {
		network, err := ChooseNetwork("/one", func(n netip.Prefix) bool { return !seen[n] })
		if err != nil {
			t.Fatal(err)
		}
		if !networks.Contains(network.Addr()) {
			t.Fatalf("%v is not in %v", network, networks)
		}
		seen[network] = true
	}
}

func TestANetworkOfThisMachineIsNotFree(t *testing.T) {
	if NetworkFree(netip.MustParsePrefix("127.0.0.0/24")) {
		t.Error("loopback's network is said to be free")
	}
}

func TestTheMarkIsANameThatTheKernelTakesForABridge(t *testing.T) {
	one, other := anySettings("/a").mark(), anySettings("/b").mark()
	if len(one) > 15 || strings.ContainsAny(one, "/ ") {
		t.Errorf("%q is no name for an interface", one)
	}
	if one == other {
		t.Errorf("two folders have one mark: %s", one)
	}
}

func TestTheKubeletListensOnTheBridgeOnly(t *testing.T) {
	var config map[string]any
	if err := yaml.UnmarshalStrict([]byte(kubeletConfiguration(anySettings("/n"))), &config); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"address": "198.18.7.1", "port": 20001.0, "readOnlyPort": 0.0, "healthzPort": 0.0,
		"containerRuntimeEndpoint": "unix:///n/containerd.sock", "podLogsDir": "/l/pods", "makeIPTablesUtilChains": false,
	} {
		if config[key] != want {
			t.Errorf("%s: got %v, want %v", key, config[key], want)
		}
	}
}

func TestPodsHaveNoRouteButToTheirNetwork(t *testing.T) {
	content, err := networkConfiguration(anySettings("/n"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Plugins []struct {
			Bridge    string `json:"bridge"`
			IsGateway bool   `json:"isGateway"`
			IPMasq    bool   `json:"ipMasq"`
			IPAM      struct {
				Ranges [][]struct {
					Subnet string `json:"subnet"`
				} `json:"ranges"`
				Routes []any `json:"routes"`
			} `json:"ipam"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal([]byte(content), &config); err != nil {
		t.Fatal(err)
	}
	plugin := config.Plugins[0]
	if plugin.IsGateway || plugin.IPMasq || len(plugin.IPAM.Routes) > 0 {
		t.Errorf("pods would get out: %s", content)
	}
	if plugin.Bridge != anySettings("/n").mark() || plugin.IPAM.Ranges[0][0].Subnet != "198.18.7.0/24" {
		t.Errorf("another bridge or network than the node's: %s", content)
	}
}

func TestASocketThatTheKernelWouldCutIsRefused(t *testing.T) {
	if len(Missing()) > 0 {
		t.Skip("this machine lacks what is asked for first: " + strings.Join(Missing(), "; "))
	}
	err := Prepare(anySettings("/" + strings.Repeat("n", 100)))
	if err == nil || !strings.Contains(err.Error(), "too long for a socket") {
		t.Errorf("got %v, want an error about the path", err)
	}
}

func TestCleaningWhereNoNodeWasIsNoError(t *testing.T) {
	if err := Clean(Settings{Dir: filepath.Join(t.TempDir(), "node")}); err != nil {
		t.Fatal(err)
	}
}

func TestGroupsAreRemovedFromTheLowestUp(t *testing.T) {
	root := filepath.Join(t.TempDir(), "group")
	if err := os.MkdirAll(filepath.Join(root, "kubepods", "pod"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the group is left")
	}
	if err := removeTree(root); err != nil {
		t.Errorf("a group that is not there: %v", err)
	}
}
