// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// pluginFolder is where Debian's package containernetworking-plugins puts them.
const pluginFolder = "/usr/lib/cni"

// searchPath is used instead of the environment's: root's own often lacks the folders of the system's programs.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

var plugins = []string{"bridge", "host-local", "loopback"}

// needed are programs, and the Debian packages that they come from.
var needed = []struct{ program, pkg string }{
	{"containerd", "containerd"}, {"ctr", "containerd"}, {"runc", "runc"}, {"ip", "iproute2"},
}

// Missing says in sentences what this machine lacks for a real node, nothing if it lacks nothing.
func Missing() []string {
	if runtime.GOOS != "linux" {
		return []string{"a real node needs Linux, and this is " + runtime.GOOS}
	}
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "a real node needs root: it makes namespaces, mounts and a bridge")
	}
	const install = "install the package %s (`make node-packages` does on Debian)"
	for _, n := range needed {
		if find(n.program) == "" {
			missing = append(missing, fmt.Sprintf("there is no program %s: "+install, n.program, n.pkg))
		}
	}
	for _, plugin := range plugins {
		if !executable(filepath.Join(pluginFolder, plugin)) {
			missing = append(missing, fmt.Sprintf("there is no network plugin %s in %s: "+install, plugin, pluginFolder, "containernetworking-plugins"))
		}
	}
	return missing
}

// find returns the path of a program, "" if there is none.
func find(program string) string {
	for _, folder := range filepath.SplitList(searchPath) {
		if path := filepath.Join(folder, program); executable(path) {
			return path
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// command is a program of the system, in an environment that holds nothing of the user's.
func command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(find(program), args...)
	cmd.Env = []string{"PATH=" + searchPath}
	return cmd
}
