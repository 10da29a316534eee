// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/test/ground"
)

// AssetsVariable names the environment variable that points to a folder with other binaries than the repository's own.
// Without it, ground.VersionVariable asks for those of another version.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// needed are the programs that envtest looks for in one folder.
var needed = []string{"etcd", "kube-apiserver", "kubectl"}

// Plane is a running etcd and kube-apiserver.
type Plane struct {
	// Config reaches the API server as a member of system:masters, without client-side throttling.
	Config *rest.Config
	// Store writes into etcd behind the API server's back.
	Store Store
	// Binaries is the folder that the programs came from; kubectl is there, too.
	Binaries string

	environment *envtest.Environment
	clients     []func()
}

// Before has stop called before the plane stops. Use it for clients that watch: the API server waits for them to end.
func (p *Plane) Before(stop func()) { p.clients = append(p.clients, stop) }

// Start runs a plane with the CRDs of config/crd. It fails when the binaries have not been built, and then says how to
// build them. The caller stops the plane.
func Start() (*Plane, error) { return StartWith(nil) }

// StartWith is Start with flags of the API server, by their names without dashes. Where a flag is a list, its value is
// added to it.
func StartWith(flags map[string]string) (*Plane, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	binaries, err := findBinaries(root)
	if err != nil {
		return nil, err
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: binaries,
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	for name, value := range flags {
		environment.ControlPlane.GetAPIServer().Configure().Append(name, value)
	}
	config, err := environment.Start()
	if err != nil {
		// envtest leaves what it has started running when a later part fails, for example a CRD that is refused.
		return nil, errors.Join(fmt.Errorf("starting a control plane from %s: %w", binaries, err), environment.Stop())
	}
	config.QPS = -1
	store := Store{URL: environment.ControlPlane.Etcd.URL.String()}
	return &Plane{Config: config, Store: store, Binaries: binaries, environment: environment}, nil
}

// Stop ends both processes and removes their data.
func (p *Plane) Stop() error {
	for _, stop := range p.clients {
		stop()
	}
	if err := p.environment.Stop(); err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	return nil
}

// Run is the body of a TestMain: it starts a plane, hands its configuration to use, runs the tests, stops the plane and
// returns the exit code.
func Run(m *testing.M, use func(*rest.Config)) (code int) {
	return RunWithStore(m, func(p *Plane) { use(p.Config) })
}

// RunWithStore is Run for tests that also write into etcd.
func RunWithStore(m *testing.M, use func(*Plane)) (code int) { return RunWith(m, nil, use) }

// RunWith is RunWithStore with flags of the API server, see StartWith.
func RunWith(m *testing.M, flags map[string]string, use func(*Plane)) (code int) {
	p, err := StartWith(flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := p.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}()
	use(p)
	return m.Run()
}

// Root returns the folder of the repository that the working directory is in: the nearest one with a go.mod.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("looking for the repository: no go.mod in %s or above it", start)
		}
	}
}

func findBinaries(root string) (string, error) {
	dir := os.Getenv(AssetsVariable)
	if dir == "" {
		versioned, err := localcluster.RootFor(root, os.Getenv(ground.VersionVariable))
		if err != nil {
			return "", fmt.Errorf("finding a control plane to test against: %w", err)
		}
		dir = filepath.Join(versioned, "bin", "k8s")
	}
	for _, name := range needed {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("no control plane to test against: run `make k8s` to build it (%w)", err)
		}
	}
	return dir, nil
}
