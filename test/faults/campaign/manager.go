// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/test/faults/proxy"
)

// restartAfter is how long an ended manager stays down, as a container's first restart does.
const restartAfter = 300 * time.Millisecond

// manager is a manager that is started again whenever it ends.
type manager struct {
	name, root, program string
	args                []string
	proxy               *proxy.Proxy

	mu     sync.Mutex
	wanted bool
	starts int
	failed error
	done   sync.WaitGroup
}

// newManager puts a proxy before the API server and starts the manager behind it.
func newManager(g *plane, name, program string, seed uint64, args ...string) (*manager, error) {
	p, err := proxy.Start(proxy.Options{Name: name, Server: g.config.Host, Authority: g.config.CAData, Seed: seed})
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(g.root, "manager-"+name+".kubeconfig")
	const key = "proxy"
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{key: {Server: p.URL(), CertificateAuthorityData: p.Authority()}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{key: {Token: g.token}},
		Contexts:       map[string]*clientcmdapi.Context{key: {Cluster: key, AuthInfo: key}},
		CurrentContext: key,
	}, kubeconfig)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing the kubeconfig of manager %s: %w", name, err), p.Close())
	}
	m := &manager{
		name: "manager-" + name, root: g.root, program: program, proxy: p, wanted: true,
		args: append([]string{"--kubeconfig=" + kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0"}, args...),
	}
	if err := m.start(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return m, nil
}

func (m *manager) start() error {
	ended, err := localcluster.StartCompanion(m.root, m.name, m.program, m.args...)
	if err != nil {
		return fmt.Errorf("starting %s: %w", m.name, err)
	}
	m.starts++
	m.done.Go(func() {
		<-ended
		time.Sleep(restartAfter)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.wanted {
			m.failed = m.start()
		}
	})
	return nil
}

// kill ends the manager as a lost machine does.
func (m *manager) kill() error { return localcluster.Kill(m.root, m.name) }

// stop ends the manager for good, and says if it could not be started again in between.
func (m *manager) stop() error {
	m.mu.Lock()
	m.wanted = false
	failed := m.failed
	m.mu.Unlock()
	m.proxy.Set(proxy.Rules{})
	err := localcluster.StopCompanion(m.root, m.name)
	m.done.Wait()
	return errors.Join(failed, err, m.proxy.Close())
}

// tag is the name that the proxy writes into user agents.
func (m *manager) tag() string { return strings.TrimPrefix(m.name, "manager-") }
