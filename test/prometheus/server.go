// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"slipway.dev/slipway/test/ground"
)

// Find returns the server's program: from the PATH, or where hack/prometheus-package.sh has put it. The error says what to do
// where there is none.
func Find() (string, error) {
	if program, err := exec.LookPath("prometheus"); err == nil {
		return program, nil
	}
	_, file, _, _ := runtime.Caller(0)
	program := filepath.Join(filepath.Dir(file), "..", "..", "bin", "prometheus")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("this machine has no prometheus: run `make prometheus-package`, or put it on the PATH (%w)", err)
	}
	return program, nil
}

// Server is a Prometheus that runs.
type Server struct {
	// URL is its address.
	URL     string
	command *exec.Cmd
	log     bytes.Buffer
	ended   chan struct{}
}

// Start starts a server that keeps its data in dir, and scrapes the targets ("127.0.0.1:8080") several times a second. It may take a
// moment until it answers.
func Start(program, dir string, targets ...string) (*Server, error) {
	address, err := ground.FreeAddress()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "prometheus.yml")
	text := "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\nscrape_configs: [{job_name: workload, static_configs: [{targets: [\"" + strings.Join(targets, `", "`) + "\"]}]}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration of Prometheus: %w", err)
	}
	s := &Server{URL: "http://" + address, ended: make(chan struct{})}
	s.command = exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	s.command.Stdout, s.command.Stderr = &s.log, &s.log
	s.command.WaitDelay = time.Second
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		_ = s.command.Wait() // why it ended stands in its log
		close(s.ended)
	}()
	return s, nil
}

// Ended is closed when the server has ended.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Log is what a server that has ended wrote.
func (s *Server) Log() string {
	<-s.ended
	return s.log.String()
}

// Stop ends the server: kindly, and after a while by force.
func (s *Server) Stop() {
	_ = s.command.Process.Signal(syscall.SIGTERM) // it fails when the server has ended
	select {
	case <-s.ended:
	case <-time.After(10 * time.Second):
		_ = s.command.Process.Kill()
		<-s.ended
	}
}
