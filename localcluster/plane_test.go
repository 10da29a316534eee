// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/localcluster/nodes"
)

func anyPorts(t *testing.T) map[string]int {
	t.Helper()
	ports, err := choosePorts("/somewhere", nil, func(int) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return ports
}

func TestPortsAreFreeAndApartAndKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		busy := map[int]bool{}
		for _, port := range rapid.SliceOfN(rapid.IntRange(firstPort, firstPort+30), 0, 20).Draw(t, "busy") {
			busy[port] = true
		}
		earlier := map[string]int{}
		for _, name := range portNames {
			if port := rapid.IntRange(0, firstPort+30).Draw(t, name); port >= firstPort && !busy[port] {
				earlier[name] = port
				busy[port] = false
			}
		}
		free := func(port int) bool { return !busy[port] }
		got, err := choosePorts(rapid.String().Draw(t, "root"), earlier, free)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]int{}
		for _, name := range portNames {
			seen[got[name]]++
			if !free(got[name]) || got[name] < firstPort {
				t.Fatalf("%s got port %d", name, got[name])
			}
			if want := earlier[name]; want != 0 && got[name] != want {
				t.Fatalf("%s was on %d and is on %d", name, want, got[name])
			}
			if earlier[name] == 0 && seen[got[name]] > 1 {
				t.Fatalf("%d is given out twice: %v", got[name], got)
			}
		}
	})
}

func TestNoFreePortIsSaid(t *testing.T) {
	if got, err := choosePorts("/", nil, func(int) bool { return false }); err == nil {
		t.Errorf("got %v, want an error", got)
	}
}

func TestAPortThatSomebodyListensOnIsNotFree(t *testing.T) {
	listener, err := net.Listen("tcp", loopbackServer+":0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if portFree(port) {
		t.Errorf("port %d is called free while it is listened on", port)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if !portFree(port) {
		t.Errorf("port %d is not called free again", port)
	}
}

func TestThePlaneListensOnLoopbackOnly(t *testing.T) {
	for _, c := range plane(layout{"/root"}, anyPorts(t)) {
		bound := false
		for _, arg := range c.args {
			name, value, _ := strings.Cut(arg, "=")
			switch {
			case name == "--bind-address":
				bound = value == loopbackServer
			case strings.HasPrefix(name, "--listen-"):
				u, err := url.Parse(value)
				if err != nil || u.Hostname() != loopbackServer || u.Scheme != "https" {
					t.Errorf("%s: %s", c.name, arg)
				}
				bound = true
			}
		}
		if !bound {
			t.Errorf("%s is not bound to an address: %v", c.name, c.args)
		}
	}
}

// anyNode is the address of a kubelet.
var anyNode = netip.MustParseAddr("198.18.0.1")

func TestEveryFileThatAComponentIsGivenIsWritten(t *testing.T) {
	files := layout{t.TempDir()}
	ports := anyPorts(t)
	if err := makeCertificates(files, anyNode, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := writeConfiguration(files, ports, false); err != nil {
		t.Fatal(err)
	}
	written := []string{files.in("pki"), files.in("conf")}
	for _, c := range plane(files, ports) {
		for _, arg := range c.args {
			_, value, _ := strings.Cut(arg, "=")
			for _, dir := range written {
				if !strings.HasPrefix(value, dir) {
					continue
				}
				if _, err := os.Stat(value); err != nil {
					t.Errorf("%s gets %s: %v", c.name, arg, err)
				}
			}
		}
	}
	err := filepath.WalkDir(files.state(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"audit policy": auditPolicy(false), "audit policy with reads": auditPolicy(true), "scheduler": schedulerConfig(files)} {
		var parsed map[string]any
		if err := yaml.UnmarshalStrict([]byte(content), &parsed); err != nil || parsed["kind"] == nil {
			t.Errorf("the configuration of the %s is no object: %v", name, err)
		}
	}
}

func TestCertificatesAreTrustedWhereTheyShouldBeAndNowhereElse(t *testing.T) {
	files := layout{t.TempDir()}
	if err := makeCertificates(files, anyNode, time.Now()); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		file, authority string
		usage           x509.ExtKeyUsage
		host            string
		want            bool
	}{
		"the plane serves on loopback":                   {"plane", "ca", x509.ExtKeyUsageServerAuth, "127.0.0.1", true},
		"the plane serves as the service kubernetes":     {"plane", "ca", x509.ExtKeyUsageServerAuth, "kubernetes.default.svc", true},
		"the plane serves under no other name":           {"plane", "ca", x509.ExtKeyUsageServerAuth, "example.com", false},
		"the administrator is a client":                  {"admin", "ca", x509.ExtKeyUsageClientAuth, "", true},
		"the administrator serves nothing":               {"admin", "ca", x509.ExtKeyUsageServerAuth, "", false},
		"the administrator cannot open etcd":             {"admin", "etcd-ca", x509.ExtKeyUsageClientAuth, "", false},
		"the API server can open etcd":                   {"etcd-client", "etcd-ca", x509.ExtKeyUsageClientAuth, "", true},
		"etcd's client is nobody at the API server":      {"etcd-client", "ca", x509.ExtKeyUsageClientAuth, "", false},
		"etcd talks to itself as a client too":           {"etcd", "etcd-ca", x509.ExtKeyUsageClientAuth, "", true},
		"an ordinary client cannot speak for others":     {"admin", "front-proxy-ca", x509.ExtKeyUsageClientAuth, "", false},
		"the aggregation layer can":                      {"front-proxy", "front-proxy-ca", x509.ExtKeyUsageClientAuth, "", true},
		"the simulated nodes are a client of their own":  {"nodes", "ca", x509.ExtKeyUsageClientAuth, "", true},
		"the kubelet serves at the bridge's address":     {"kubelet-server", "ca", x509.ExtKeyUsageServerAuth, "198.18.0.1", true},
		"the kubelet serves at no other address":         {"kubelet-server", "ca", x509.ExtKeyUsageServerAuth, "127.0.0.1", false},
		"the kubelet is a client":                        {"kubelet", "ca", x509.ExtKeyUsageClientAuth, "", true},
		"the scheduler is a client":                      {"scheduler", "ca", x509.ExtKeyUsageClientAuth, "", true},
		"the controller manager is a client":             {"controller-manager", "ca", x509.ExtKeyUsageClientAuth, "", true},
		"the front proxy is nobody by its own authority": {"front-proxy", "ca", x509.ExtKeyUsageClientAuth, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			pair, err := tls.LoadX509KeyPair(files.pki(tc.file+".crt"), files.pki(tc.file+".key"))
			if err != nil {
				t.Fatal(err)
			}
			roots, err := os.ReadFile(files.pki(tc.authority + ".crt"))
			if err != nil {
				t.Fatal(err)
			}
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(roots)
			_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{tc.usage}, DNSName: tc.host})
			if (err == nil) != tc.want {
				t.Errorf("trusted is %v, want %v: %v", err == nil, tc.want, err)
			}
		})
	}
	before := mustRead(t, files.pki("ca.crt"))
	if err := makeCertificates(files, anyNode, time.Now()); err != nil {
		t.Fatal(err)
	}
	if mustRead(t, files.pki("ca.crt")) != before {
		t.Error("certificates that exist were made anew: running clients would lose their trust")
	}
}

func TestTheKubeconfigWorksAlone(t *testing.T) {
	files := layout{t.TempDir()}
	if err := makeCertificates(files, anyNode, time.Now()); err != nil {
		t.Fatal(err)
	}
	ports := anyPorts(t)
	if err := writeConfiguration(files, ports, false); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(files.in("pki")); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", KubeconfigPath(files.root))
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://" + address(ports[portAPI]); config.Host != want {
		t.Errorf("the server is %s, want %s", config.Host, want)
	}
	if _, err := rest.TLSConfigFor(config); err != nil {
		t.Errorf("the credentials are of no use: %v", err)
	}
}

func TestTheRecordIsReadBackAsWritten(t *testing.T) {
	files := layout{t.TempDir()}
	if got, err := readRecord(files); got != nil || err != nil {
		t.Errorf("without a cluster: got %v, %v", got, err)
	}
	want := &record{
		Ports: anyPorts(t), Nodes: nodes.Defaults(),
		RealNode: true, Network: netip.MustParsePrefix("198.18.7.0/24"), Programs: "/bin",
	}
	if err := want.write(files); err != nil {
		t.Fatal(err)
	}
	got, err := readRecord(files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	mustWrite(t, files.record(), "{")
	if _, err := readRecord(files); err == nil || !strings.Contains(err.Error(), "localcluster down") {
		t.Errorf("a damaged record: got %v, want an error that says what to do", err)
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
