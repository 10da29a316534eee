// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const (
	etcdServer = "go.etcd.io/etcd/server/v3"
	etcdClient = "go.etcd.io/etcd/client/v3"
	// stagingFolder is where Kubernetes' own module finds the modules that it is made of.
	stagingFolder = "./staging/src/"
)

// RootFor is the root of clusters of a version of Kubernetes: root itself for "" and for the version that it pins, and
// for another one, like "v1.33.13", the folder in bin that LayOut makes.
func RootFor(root, version string) (string, error) {
	pinned, err := KubernetesVersion(root)
	if err != nil {
		return "", err
	}
	if version == "" || version == pinned {
		return root, nil
	}
	if semver.Canonical(version) != version || semver.Major(version) != "v1" {
		return "", fmt.Errorf("%q is no version of Kubernetes: give one like %s", version, pinned)
	}
	return filepath.Join(root, "bin", "kubernetes-"+version), nil
}

// LayOut makes a root for clusters of another version than the pinned one, if there is none yet, and returns it. Build and
// Up work there as they do in the repository. Its build module is made of Kubernetes' own, with the same versions of
// everything; the checksums are those of Kubernetes and of Go's checksum database.
func LayOut(ctx context.Context, root, version string, out io.Writer) (string, error) {
	there, err := RootFor(root, version)
	if err != nil || there == root {
		return there, err
	}
	if _, err := os.Stat(layout{there}.buildModule()); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return there, err
	}
	fmt.Fprintf(out, "laying out %s for Kubernetes %s\n", there, version)
	if err := os.MkdirAll(filepath.Dir(layout{there}.buildModule()), 0o755); err != nil {
		return "", fmt.Errorf("making %s: %w", there, err)
	}
	// go.mod tells that this is a root.
	if err := os.Symlink(filepath.Join("..", "..", "go.mod"), filepath.Join(there, "go.mod")); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("laying out %s: %w", there, err)
	}
	if err := writeBuildModule(ctx, layout{there}, version); err != nil {
		return "", fmt.Errorf("making the build module of Kubernetes %s: %w", version, err)
	}
	return there, nil
}

func writeBuildModule(ctx context.Context, files layout, version string) error {
	modFile, dir, err := download(ctx, files.root, version)
	if err != nil {
		return err
	}
	module, err := os.ReadFile(modFile)
	if err != nil {
		return fmt.Errorf("reading its go.mod: %w", err)
	}
	if module, err = buildModule(module, version); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return fmt.Errorf("reading its go.sum: %w", err)
	}
	// Beside its place first: half a module must never look whole.
	fresh := files.buildModule() + ".new"
	if err := errors.Join(os.RemoveAll(fresh), os.Mkdir(fresh, 0o755)); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	for name, content := range map[string][]byte{"go.mod": module, "go.sum": sums} {
		if err := os.WriteFile(filepath.Join(fresh, name), content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	args := []string{"list", "-mod=mod", "-deps"} // it adds the sums that Kubernetes itself has no need of
	for _, program := range programs {
		args = append(args, program.pkg)
	}
	if _, err := goCommand(ctx, fresh, args...); err != nil {
		return err
	}
	if err := os.Rename(fresh, files.buildModule()); err != nil {
		return fmt.Errorf("putting it in place: %w", err)
	}
	return nil
}

// download has Go get and check Kubernetes' own module, and returns where its go.mod and its folder are.
func download(ctx context.Context, in, version string) (modFile, dir string, err error) {
	output, err := goCommand(ctx, in, "mod", "download", "-json", kubernetesModule+"@"+version)
	if err != nil {
		return "", "", err
	}
	var got struct{ GoMod, Dir string }
	if err := json.Unmarshal(output, &got); err != nil {
		return "", "", fmt.Errorf("reading what go has downloaded: %w", err)
	}
	return got.GoMod, got.Dir, nil
}

func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = dir, &complaints
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	output, err := cmd.Output()
	if err != nil {
		// `go mod download -json` tells what is wrong in its output.
		return nil, fmt.Errorf("go %s: %w\n%s%s", strings.Join(args[:2], " "), err, complaints.String(), output)
	}
	return output, nil
}

// buildModule makes the go.mod of a build module out of Kubernetes' own: the modules that it has in its folder are taken
// at the versions that were published with it, and etcd's server at the version of the client.
func buildModule(own []byte, version string) ([]byte, error) {
	file, err := modfile.Parse("go.mod", own, nil)
	if err != nil {
		return nil, fmt.Errorf("reading its go.mod: %w", err)
	}
	errs := []error{file.AddModuleStmt(modulePath + "/hack/kubernetes"), file.AddRequire(kubernetesModule, version)}
	for _, replaced := range file.Replace {
		if module, staged := strings.CutPrefix(replaced.New.Path, stagingFolder); staged {
			errs = append(errs, file.AddReplace(replaced.Old.Path, "", module, "v0"+strings.TrimPrefix(version, "v1")))
		}
	}
	store := ""
	for _, required := range file.Require {
		if required.Mod.Path == etcdClient {
			store = required.Mod.Version
		}
	}
	if store == "" {
		errs = append(errs, fmt.Errorf("it does not require %s", etcdClient))
	} else {
		errs = append(errs, file.AddRequire(etcdServer, store))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("changing its go.mod: %w", err)
	}
	file.Cleanup()
	file.SortBlocks()
	content, err := file.Format()
	if err != nil {
		return nil, fmt.Errorf("writing its go.mod: %w", err)
	}
	return content, nil
}
