// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"fmt"
	"net"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const serviceRange = "172.20.0.0/16"

// serviceAddress is that of the service `kubernetes`: the first of the range.
func serviceAddress() net.IP { return net.IPv4(172, 20, 0, 1) }

// component is one process of the plane.
type component struct {
	name string
	args []string
	// health is the path that answers 200 when the component works; port where.
	health string
	port   int
	// etcd's clients come with a certificate of etcd's own authority.
	store bool
}

// plane lists the control plane in the order of starting.
func plane(files layout, ports map[string]int) []component {
	return []component{
		{name: "etcd", args: etcdArgs(files, ports), health: "/health", port: ports[portEtcd], store: true},
		{name: "kube-apiserver", args: apiServerArgs(files, ports), health: "/readyz", port: ports[portAPI]},
		{name: "kube-controller-manager", args: controllerManagerArgs(files, ports), health: "/healthz", port: ports[portControl]},
		{name: "kube-scheduler", args: schedulerArgs(files, ports), health: "/healthz", port: ports[portScheduler]},
	}
}

func etcdArgs(files layout, ports map[string]int) []string {
	clients, peers := "https://"+address(ports[portEtcd]), "https://"+address(ports[portEtcdPeer])
	return []string{
		"--name=slipway",
		"--data-dir=" + files.in("etcd"),
		"--listen-client-urls=" + clients,
		"--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers,
		"--initial-advertise-peer-urls=" + peers,
		"--initial-cluster=slipway=" + peers,
		"--cert-file=" + files.pki("etcd.crt"),
		"--key-file=" + files.pki("etcd.key"),
		"--trusted-ca-file=" + files.pki("etcd-ca.crt"),
		"--client-cert-auth",
		"--peer-cert-file=" + files.pki("etcd.crt"),
		"--peer-key-file=" + files.pki("etcd.key"),
		"--peer-trusted-ca-file=" + files.pki("etcd-ca.crt"),
		"--peer-client-cert-auth",
		"--unsafe-no-fsync",
		"--quota-backend-bytes=4294967296",
		"--log-level=warn",
	}
}

func apiServerArgs(files layout, ports map[string]int) []string {
	return []string{
		"--bind-address=" + loopbackServer,
		"--advertise-address=" + loopbackServer,
		fmt.Sprintf("--secure-port=%d", ports[portAPI]),
		// The service `kubernetes` cannot point to a loopback address, and nothing here would use it.
		"--endpoint-reconciler-type=none",
		"--etcd-servers=https://" + address(ports[portEtcd]),
		"--etcd-cafile=" + files.pki("etcd-ca.crt"),
		"--etcd-certfile=" + files.pki("etcd-client.crt"),
		"--etcd-keyfile=" + files.pki("etcd-client.key"),
		"--tls-cert-file=" + files.pki("plane.crt"),
		"--tls-private-key-file=" + files.pki("plane.key"),
		"--client-ca-file=" + files.pki("ca.crt"),
		"--requestheader-client-ca-file=" + files.pki("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + files.pki("front-proxy.crt"),
		"--proxy-client-key-file=" + files.pki("front-proxy.key"),
		"--anonymous-auth=false",
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + files.pki("service-accounts.pub"),
		"--service-account-signing-key-file=" + files.pki("service-accounts.key"),
		"--service-cluster-ip-range=" + serviceRange,
		"--allow-privileged",
		// For logs of and commands in pods of the real node. The simulated nodes have none.
		"--kubelet-certificate-authority=" + files.pki("ca.crt"),
		"--kubelet-client-certificate=" + files.pki("admin.crt"),
		"--kubelet-client-key=" + files.pki("admin.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--audit-policy-file=" + files.conf("audit-policy.yaml"),
		"--audit-log-path=" + files.audit(),
		// One file, never rotated away in the middle of a measurement, and complete whenever it is read.
		"--audit-log-maxsize=10240",
		"--audit-log-mode=blocking",
		// A benchmark asks for more at a time than the defaults let through.
		"--max-requests-inflight=2000",
		"--max-mutating-requests-inflight=1000",
		"--profiling=false",
	}
}

func controllerManagerArgs(files layout, ports map[string]int) []string {
	kubeconfig := files.conf("controller-manager.kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + loopbackServer,
		fmt.Sprintf("--secure-port=%d", ports[portControl]),
		"--tls-cert-file=" + files.pki("plane.crt"),
		"--tls-private-key-file=" + files.pki("plane.key"),
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + files.pki("service-accounts.key"),
		"--root-ca-file=" + files.pki("ca.crt"),
		"--allocate-node-cidrs=false",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		"--profiling=false",
	}
}

func schedulerArgs(files layout, ports map[string]int) []string {
	kubeconfig := files.conf("scheduler.kubeconfig")
	return []string{
		"--config=" + files.conf("scheduler.yaml"),
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + loopbackServer,
		fmt.Sprintf("--secure-port=%d", ports[portScheduler]),
		"--tls-cert-file=" + files.pki("plane.crt"),
		"--tls-private-key-file=" + files.pki("plane.key"),
	}
}

// The audit log is how releases are judged: it holds every write of the objects that a release consists of, and of the
// manager's lease, with the object, and every other write without. Other leases and events would only fill it; so would
// reads, unless somebody counts requests.
func auditPolicy(countRequests bool) string {
	if countRequests {
		return auditHead + auditNothingOf + "- level: Metadata\n"
	}
	return auditHead + auditOfManagers + auditNothingOf + auditOfReleases
}

const auditHead = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
`

const auditOfManagers = `- level: RequestResponse
  verbs: [create, update, patch, delete]
  namespaces: [slipway-system]
  resources:
  - {group: coordination.k8s.io, resources: [leases]}
`

const auditNothingOf = `- level: None
  nonResourceURLs: ["*"]
- level: None
  resources:
  - {group: "", resources: [events]}
  - {group: events.k8s.io, resources: [events]}
  - {group: coordination.k8s.io, resources: [leases]}
  - {group: authentication.k8s.io}
  - {group: authorization.k8s.io}
`

const auditOfReleases = `- level: None
  verbs: [get, list, watch]
- level: RequestResponse
  resources:
  - {group: "", resources: [pods, pods/*, persistentvolumeclaims, persistentvolumeclaims/*]}
  - {group: apps, resources: [controllerrevisions]}
  - {group: apps.kruise.io}
  - {group: apps.cafe.cloud.alipay.com}
- level: Metadata
`

func schedulerConfig(files layout) string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
enableProfiling: false
clientConnection:
  kubeconfig: %q
  qps: 2000
  burst: 4000
`, files.conf("scheduler.kubeconfig"))
}

// writeConfiguration writes everything that the components read, for these ports.
func writeConfiguration(files layout, ports map[string]int, countRequests bool) error {
	for path, content := range map[string]string{
		files.conf("audit-policy.yaml"): auditPolicy(countRequests),
		files.conf("scheduler.yaml"):    schedulerConfig(files),
	} {
		if err := writeSecret(path, []byte(content)); err != nil {
			return err
		}
	}
	for _, client := range clients {
		path := files.conf(client + ".kubeconfig")
		if client == "admin" {
			path = files.kubeconfig()
		}
		content, err := kubeconfig(files, client, ports[portAPI])
		if err != nil {
			return err
		}
		if err := writeSecret(path, content); err != nil {
			return err
		}
	}
	return nil
}

// kubeconfig embeds the certificates, so that the file works alone and from anywhere on this machine.
func kubeconfig(files layout, client string, port int) ([]byte, error) {
	parts := map[string][]byte{}
	for _, name := range []string{"ca.crt", client + ".crt", client + ".key"} {
		content, err := os.ReadFile(files.pki(name))
		if err != nil {
			return nil, fmt.Errorf("reading what the kubeconfig of %s needs: %w", client, err)
		}
		parts[name] = content
	}
	const name = "slipway-local"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: "https://" + address(port), CertificateAuthorityData: parts["ca.crt"],
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{client: {
			ClientCertificateData: parts[client+".crt"], ClientKeyData: parts[client+".key"],
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: client}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig of %s: %w", client, err)
	}
	return content, nil
}
