// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const kubernetesModule = "k8s.io/kubernetes"

// progressEvery is the least time between two progress lines of one build.
const progressEvery = 10 * time.Second

// programs in the order of building: the longest first, because the others share most of its packages.
var programs = []struct{ name, pkg string }{
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
	{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"},
	{"kubelet", "k8s.io/kubernetes/cmd/kubelet"},
	{"kubectl", "k8s.io/kubernetes/cmd/kubectl"},
	{"etcd", "go.etcd.io/etcd/server/v3"},
}

// KubernetesVersion is the version of the control plane, as hack/kubernetes/go.mod pins it: "v1.36.3".
func KubernetesVersion(root string) (string, error) {
	path := filepath.Join(layout{root}.buildModule(), "go.mod")
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the pinned Kubernetes version: %w", err)
	}
	return pinnedVersion(path, content)
}

func pinnedVersion(path string, content []byte) (string, error) {
	file, err := modfile.Parse(path, content, nil)
	if err != nil {
		return "", fmt.Errorf("reading the pinned Kubernetes version: %w", err)
	}
	for _, require := range file.Require {
		if require.Mod.Path == kubernetesModule {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", path, kubernetesModule)
}

// Build makes the Kubernetes binaries in bin/k8s that are missing or out of date and tells its
// progress in lines on out. It needs the go command; modules come from where Go is set up to get them.
func Build(ctx context.Context, root string, out io.Writer) error {
	files := layout{root}
	version, err := KubernetesVersion(root)
	if err != nil {
		return err
	}
	want, err := stampOf(files, version)
	if err != nil {
		return err
	}
	var todo []int
	for i, program := range programs {
		if !built(files, program.name, want) {
			todo = append(todo, i)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("building Kubernetes %s needs the go command: %w", version, err)
	}
	if err := os.MkdirAll(files.binaries(), 0o755); err != nil {
		return fmt.Errorf("making %s: %w", files.binaries(), err)
	}
	fmt.Fprintf(out, "building Kubernetes %s into %s (about 10 minutes on 2 cores when nothing is cached)\n", version, files.binaries())
	for n, i := range todo {
		name := programs[i].name
		fmt.Fprintf(out, "  %s (%d of %d) ...\n", name, n+1, len(todo))
		begin := time.Now()
		if err := buildOne(ctx, files, name, programs[i].pkg, version, out); err != nil {
			return fmt.Errorf("building %s: %w", name, err)
		}
		if err := os.WriteFile(stampFile(files, name), want, 0o644); err != nil {
			return fmt.Errorf("noting that %s is built: %w", name, err)
		}
		fmt.Fprintf(out, "  %s done in %s\n", name, time.Since(begin).Round(time.Second))
	}
	return nil
}

func buildOne(ctx context.Context, files layout, name, pkg, version string, out io.Writer) error {
	// Into another name first: the old binary may be running, and half a binary must never look built.
	fresh := files.binary(name) + ".new"
	args := append([]string{"build", "-v", "-o", fresh}, buildFlags(version)...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = files.buildModule()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	// The compilers are children of go: a cancelled build has to end them too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	messages, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("listening to go: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting go: %w", err)
	}
	complaints := follow(messages, name, out)
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w\n%s", err, strings.Join(complaints, "\n"))
	}
	if err := os.Rename(fresh, files.binary(name)); err != nil {
		return fmt.Errorf("putting the binary in place: %w", err)
	}
	return nil
}

// follow reads what `go build -v` says: package names, which it counts for the progress lines, and
// anything else, of which it returns the last lines.
func follow(messages io.Reader, name string, out io.Writer) []string {
	const keep = 20
	var complaints []string
	packages := 0
	begin := time.Now()
	told := begin
	lines := bufio.NewScanner(messages)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.ContainsAny(line, " \t") {
			complaints = append(complaints, line)
			complaints = complaints[max(0, len(complaints)-keep):]
			continue
		}
		packages++
		if time.Since(told) >= progressEvery {
			told = time.Now()
			fmt.Fprintf(out, "  %s: %d packages compiled, %s\n", name, packages, time.Since(begin).Round(time.Second))
		}
	}
	return complaints
}

// buildFlags sets the version, because a plain build reports one that clients refuse.
func buildFlags(version string) []string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(semver.MajorMinor(version), "v"), ".")
	link := "-s -w"
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		link += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", pkg, version, major, minor)
	}
	return []string{"-trimpath", "-ldflags", link}
}

// stampOf says in a few bytes what a binary depends on.
func stampOf(files layout, version string) ([]byte, error) {
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(files.buildModule(), name))
		if err != nil {
			return nil, fmt.Errorf("reading the build module: %w", err)
		}
		sum.Write(content)
	}
	stamp, err := json.MarshalIndent(map[string]any{
		"kubernetes": version,
		"flags":      buildFlags(version),
		"platform":   runtime.GOOS + "/" + runtime.GOARCH,
		"modules":    hex.EncodeToString(sum.Sum(nil)),
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the build stamp: %w", err)
	}
	return append(stamp, '\n'), nil
}

func stampFile(files layout, name string) string { return files.binary(name) + ".stamp" }

func built(files layout, name string, want []byte) bool {
	info, err := os.Stat(files.binary(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&0o111 == 0 {
		return false
	}
	stamp, err := os.ReadFile(stampFile(files, name))
	return err == nil && string(stamp) == string(want)
}
