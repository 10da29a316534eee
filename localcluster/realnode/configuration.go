// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"slipway.dev/slipway/localcluster/images"
)

// writeConfiguration writes what containerd, the plugins and the kubelet read.
func writeConfiguration(s Settings, snapshotter string, restrictOOM bool) error {
	network, err := networkConfiguration(s)
	if err != nil {
		return err
	}
	for path, content := range map[string]string{
		s.in("containerd.toml"):            containerdConfiguration(s, snapshotter, restrictOOM),
		s.in("cni", "10-slipway.conflist"): network,
		s.in("kubelet.yaml"):               kubeletConfiguration(s),
		s.in("resolv.conf"):                "",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("making the folder of %s: %w", path, err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("writing the node's configuration: %w", err)
		}
	}
	return nil
}

// containerdConfiguration is for containerd 1.6 and 1.7.
func containerdConfiguration(s Settings, snapshotter string, restrictOOM bool) string {
	return fmt.Sprintf(`version = 2
root = %q
state = %q
[grpc]
  address = %q
[plugins."io.containerd.internal.v1.opt"]
  path = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  stream_server_address = "127.0.0.1"
  restrict_oom_score_adj = %t
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = %q
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
`, s.in("containerd"), s.in("state"), s.socket(), s.in("opt"), images.Pause, restrictOOM, pluginFolder, s.in("cni"), snapshotter)
}

// networkConfiguration gives pods an address on the bridge and no route: they reach each other and this machine at the
// bridge's address. The bridge gets its address from Prepare: the plugin would also turn on forwarding.
func networkConfiguration(s Settings) (string, error) {
	content, err := json.MarshalIndent(map[string]any{
		"cniVersion": "0.4.0",
		"name":       s.mark(),
		"plugins": []any{map[string]any{
			"type": "bridge", "bridge": s.mark(), "isGateway": false, "ipMasq": false,
			"ipam": map[string]any{"type": "host-local", "ranges": []any{[]any{map[string]string{"subnet": s.Network.String()}}}},
		}},
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encoding the network's configuration: %w", err)
	}
	return string(content), nil
}

// kubeletConfiguration lets the kubelet judge nothing by the state of this machine: a full disk is not what is tested
// here, and an image that it would remove cannot be pulled again.
func kubeletConfiguration(s Settings) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %q
port: %d
readOnlyPort: 0
healthzPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %q}
authorization: {mode: Webhook}
tlsCertFile: %q
tlsPrivateKeyFile: %q
containerRuntimeEndpoint: "unix://%s"
podLogsDir: %q
volumePluginDir: %q
resolvConf: %q
cgroupDriver: cgroupfs
cgroupRoot: "/%s"
cgroupsPerQOS: true
enforceNodeAllocatable: [none]
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
registerNode: true
registerWithTaints: [{key: %q, value: "true", effect: NoSchedule}]
evictionHard: {memory.available: "0%%", nodefs.available: "0%%", nodefs.inodesFree: "0%%", imagefs.available: "0%%", imagefs.inodesFree: "0%%"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
`, Address(s.Network), s.Port, s.Authority, s.Certificate, s.Key, s.socket(), filepath.Join(s.Logs, "pods"), s.in("plugins", "exec"),
		s.in("resolv.conf"), s.mark(), Taint)
}

func kubeletArgs(s Settings) []string {
	return []string{
		"--config=" + s.in("kubelet.yaml"),
		"--kubeconfig=" + s.Kubeconfig,
		"--root-dir=" + s.in("kubelet"),
		"--hostname-override=" + Name,
		"--node-ip=" + Address(s.Network).String(),
		"--node-labels=" + Label + "=true",
		"--v=2",
	}
}
