// SPDX-License-Identifier: Apache-2.0

package ground

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/localcluster"
)

// SystemNamespace and Manager are what config/install.yaml calls the manager's place and everything of it.
const (
	SystemNamespace = "slipway-system"
	Manager         = "slipway-manager"
)

// VersionVariable names the environment variable that asks for another version of Kubernetes than the pinned one: "v1.33.13".
const VersionVariable = "SLIPWAY_KUBERNETES"

// NewRoot makes a temporary directory that a cluster can live in: it shares with the repository, or with its root for
// another version of Kubernetes, what does not change.
func NewRoot(repository, prefix string) (string, error) {
	versioned, err := localcluster.RootFor(repository, os.Getenv(VersionVariable))
	if err != nil {
		return "", fmt.Errorf("finding the programs of the cluster: %w", err)
	}
	root, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", fmt.Errorf("making a directory for the cluster: %w", err)
	}
	for _, shared := range []string{"bin", "hack", "go.mod"} {
		if err := os.Symlink(filepath.Join(versioned, shared), filepath.Join(root, shared)); err != nil {
			return "", errors.Join(fmt.Errorf("laying out the cluster's directory: %w", err), os.RemoveAll(root))
		}
	}
	return root, nil
}

// Build builds programs of the repository, from the code as it is now, to a file, or into a directory that ends in a slash.
func Build(ctx context.Context, repository, to string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-buildvcs=false", "-o", to}, args...)...)
	cmd.Dir = repository
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make does, so that nothing is compiled twice
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %v: %w: %s", args, err, output)
	}
	return nil
}

// Kubectl runs kubectl as the administrator of the cluster in root, and returns what it printed.
func Kubectl(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", "k8s", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+localcluster.KubeconfigPath(root), "HOME="+root)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("kubectl %v: %w: %s", args, err, output)
	}
	return string(output), nil
}

// Install installs Slipway as a user does, and returns a token of the manager's service account for a day. The
// Deployment's pods run on simulated nodes, which means that they do nothing: who wants a manager starts a process.
func Install(ctx context.Context, repository, root string, api client.Client) (string, error) {
	if _, err := Kubectl(ctx, root, "apply", "--server-side", "-f", filepath.Join(repository, "config", "install.yaml")); err != nil {
		return "", err
	}
	_, err := Kubectl(ctx, root, "wait", "--for=condition=Established", "--timeout=60s", "crd/clonesets.apps.kruise.io", "crd/statefulsets.apps.kruise.io",
		"crd/inplacesets.apps.cafe.cloud.alipay.com", "crd/cafedeployments.apps.cafe.cloud.alipay.com")
	if err != nil {
		return "", err
	}
	return Token(ctx, api, Manager)
}

// Token is one for a day of a service account in SystemNamespace.
func Token(ctx context.Context, api client.Client, account string) (string, error) {
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: account}}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](24 * 60 * 60)}}
	if err := api.SubResource("token").Create(ctx, of, token); err != nil {
		return "", fmt.Errorf("asking for a token of service account %s: %w", account, err)
	}
	return token.Status.Token, nil
}

// FreeAddress is a loopback address that nobody listens on now.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
