// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"slipway.dev/slipway/test/ground"
)

// stopGrace is how long the manager may take to end when it is asked to.
const stopGrace = 45 * time.Second

// manager is the process under test, one at a time.
type manager struct {
	program, kubeconfig, log string

	process *os.Process
	ended   chan struct{}
	// health is the address of the probes.
	health string
}

// start runs the manager with flags besides those that every start has.
func (m *manager) start(flags ...string) {
	GinkgoHelper()
	Expect(m.running()).To(BeFalse(), "the manager runs already")
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	Expect(err).NotTo(HaveOccurred())
	defer log.Close() // the process has its own copy
	m.health, err = ground.FreeAddress()
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.Command(m.program, append([]string{
		"--kubeconfig=" + m.kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=" + m.health,
	}, flags...)...)
	cmd.Stdout, cmd.Stderr = log, log
	Expect(cmd.Start()).To(Succeed())
	m.process, m.ended = cmd.Process, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // how it ended stands in its log
		close(ended)
	}(m.ended)
}

func (m *manager) running() bool {
	if m.process == nil {
		return false
	}
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

// kill ends the manager as a lost machine does.
func (m *manager) kill() {
	GinkgoHelper()
	if m.running() {
		Expect(m.process.Signal(syscall.SIGKILL)).To(Or(Succeed(), MatchError(os.ErrProcessDone)))
		<-m.ended
	}
}

// stop ends the manager in order.
func (m *manager) stop() {
	GinkgoHelper()
	if !m.running() {
		return
	}
	Expect(m.process.Signal(syscall.SIGTERM)).To(Or(Succeed(), MatchError(os.ErrProcessDone)))
	select {
	case <-m.ended:
	case <-time.After(stopGrace):
		m.kill()
		Fail(fmt.Sprintf("the manager did not end within %s of SIGTERM", stopGrace))
	}
}

// ready asks the readiness probe.
func (m *manager) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.health+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("asking for readiness: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking for readiness: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the readiness probe answers %s", response.Status)
	}
	return nil
}

// tail is the end of the log.
func (m *manager) tail(lines int) string {
	content, err := os.ReadFile(m.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
