// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"slipway.dev/slipway/localcluster/images"
)

const (
	// lookEvery is the time between two looks at something that tells nobody when it changes.
	lookEvery = 50 * time.Millisecond
	// startTimeout bounds the wait for containerd.
	startTimeout = time.Minute
	// restartDelay is kept before what ended is started again.
	restartDelay = time.Second
	// namespace is containerd's for the kubelet's images and containers.
	namespace = "k8s.io"
)

// node is one that runs.
type node struct {
	settings Settings
	family   *family
	log      *slog.Logger
}

// Run is the node's first process until ctx ends. It has to be started with Isolation, after Prepare. When it returns
// and the process ends, so does everything that it started.
func Run(ctx context.Context, s Settings, log *slog.Logger) error {
	if os.Getpid() != 1 {
		return errors.New("a node's first process is started by `localcluster up --real-node`, in a namespace of its own")
	}
	if err := arrange(s); err != nil {
		return err
	}
	if err := makeGroups(s); err != nil {
		return err
	}
	snapshotter, err := snapshotterFor(s.Dir)
	if err != nil {
		return err
	}
	if err := writeConfiguration(s, snapshotter, !mayRaiseLimits()); err != nil {
		return err
	}
	n := &node{settings: s, family: newFamily(), log: log}
	containerd := func() *exec.Cmd { return command("containerd", "--config", s.in("containerd.toml")) }
	kubelet := func() *exec.Cmd {
		cmd := exec.Command(s.Kubelet, kubeletArgs(s)...)
		cmd.Env = []string{"PATH=" + searchPath}
		return cmd
	}
	ended := make(chan error, 2)
	go func() { ended <- n.keep(ctx, "containerd", containerd) }()
	if err := n.importImages(ctx, snapshotter); err != nil {
		return err
	}
	go func() { ended <- n.keep(ctx, "kubelet", kubelet) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

// keep runs a program until ctx ends, and starts it again whenever it ends, as a system's init does.
func (n *node) keep(ctx context.Context, name string, program func() *exec.Cmd) error {
	log, err := n.logOf(name)
	if err != nil {
		return err
	}
	defer log.Close()
	for {
		ended, err := n.family.start(program(), log)
		if err != nil {
			return err
		}
		n.log.Info("started", "program", name)
		select {
		case status := <-ended:
			n.log.Warn("ended; starting it again", "program", name, "how", tell(status), "in", restartDelay)
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(restartDelay):
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *node) logOf(name string) (*os.File, error) {
	log, err := os.OpenFile(filepath.Join(n.settings.Logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	return log, nil
}

// importImages waits for containerd and gives it all images.
func (n *node) importImages(ctx context.Context, snapshotter string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	log, err := n.logOf("images")
	if err != nil {
		return err
	}
	defer log.Close()
	for {
		err := n.family.run(n.ctr("version"), log)
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("containerd does not answer after %s (log %s): %w", startTimeout, filepath.Join(n.settings.Logs, "containerd.log"), err)
		case <-time.After(10 * lookEvery):
		}
	}
	archive := n.settings.in("images.tar")
	if err := pack(archive, n.settings.Programs); err != nil {
		return err
	}
	if err := n.family.run(n.ctr("--namespace="+namespace, "images", "import", "--snapshotter="+snapshotter, archive), log); err != nil {
		return fmt.Errorf("importing the images (log %s): %w", log.Name(), err)
	}
	if err := os.Remove(archive); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the images' archive: %w", err)
	}
	return nil
}

func (n *node) ctr(args ...string) *exec.Cmd {
	return command("ctr", append([]string{"--address=" + n.settings.socket()}, args...)...)
}

func pack(path, programs string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("making the images' archive: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return images.WriteArchive(file, programs)
}

// snapshotterFor chooses how layers are laid over each other: the kernel's overlay does not work on itself.
func snapshotterFor(dir string) (string, error) {
	const overlay = 0x794c7630
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return "", fmt.Errorf("asking for the file system of %s: %w", dir, err)
	}
	if stat.Type == overlay {
		return "native", nil
	}
	return "overlayfs", nil
}
