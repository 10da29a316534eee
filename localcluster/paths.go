// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

const modulePath = "slipway.dev/slipway"

// FindRoot walks up from dir to the directory whose go.mod is Slipway's.
func FindRoot(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolving %s: %w", dir, err)
	}
	for at := start; ; at = filepath.Dir(at) {
		content, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && modfile.ModulePath(content) == modulePath {
			return at, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("looking for the repository's root: %w", err)
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not inside Slipway's repository: call it from there or give --root", start)
		}
	}
}

// layout names every file of a cluster. The zero value is of no use.
type layout struct{ root string }

func (l layout) binaries() string          { return filepath.Join(l.root, "bin", "k8s") }
func (l layout) binary(name string) string { return filepath.Join(l.binaries(), name) }
func (l layout) buildModule() string       { return filepath.Join(l.root, "hack", "kubernetes") }
func (l layout) state() string             { return filepath.Join(l.root, ".local") }
func (l layout) in(parts ...string) string {
	return filepath.Join(append([]string{l.state()}, parts...)...)
}
func (l layout) kubeconfig() string              { return l.in("kubeconfig") }
func (l layout) audit() string                   { return l.in("audit.log") }
func (l layout) record() string                  { return l.in("cluster.json") }
func (l layout) pki(name string) string          { return l.in("pki", name) }
func (l layout) node() string                    { return l.in("node") }
func (l layout) conf(name string) string         { return l.in("conf", name) }
func (l layout) log(component string) string     { return l.in("logs", component+".log") }
func (l layout) pidFile(component string) string { return l.in("run", component+".json") }

// KubeconfigPath is where a cluster of the repository at root keeps the administrator's kubeconfig.
func KubeconfigPath(root string) string { return layout{root}.kubeconfig() }

// AuditLogPath is where a cluster of the repository at root keeps the audit log.
func AuditLogPath(root string) string { return layout{root}.audit() }

// writeSecret replaces a file at once, so that nobody ever reads half of it, with mode 0600.
func writeSecret(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the directory of %s: %w", path, err)
	}
	fresh := path + ".new"
	if err := os.WriteFile(fresh, content, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("putting %s in place: %w", path, err)
	}
	return nil
}
