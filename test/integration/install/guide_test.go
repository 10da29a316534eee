// SPDX-License-Identifier: Apache-2.0

package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/guide"
)

// TestTheGuideToTakeOverFromOpenKruiseWorks runs the commands of the guide, section by section in one shell, on a cluster on
// which OpenKruise seems to have run: sets, pods and revisions as it leaves them, its Deployment, and webhooks that nobody
// answers. Blocks that are marked as console wait for pods of Deployments, which nothing makes here; the test does their work.
func TestTheGuideToTakeOverFromOpenKruiseWorks(t *testing.T) {
	c := newClient(t)
	waitForCRDs(t, c)
	openKruise(t, c)
	sections := sectionsOf(t, "docs/guide/migrate-from-openkruise.md")
	if len(sections) != 5 {
		t.Fatalf("the guide has %d steps with commands, want 5", len(sections))
	}
	shell := startShell(t)

	if out := shell.run(t, sections[0]); !strings.Contains(out, "statefulsets.apps.kruise.io   v1beta1\n") || !strings.Contains(out, "clonesets.apps.kruise.io      v1alpha1\n") {
		t.Errorf("the versions are shown as\n%s", out)
	}
	try := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "try"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: imageOfShop}}}}
	if err := c.Create(t.Context(), try.DeepCopy(), client.DryRunAll); err == nil {
		t.Error("the webhooks of a manager that does not answer let a pod pass: the test tries nothing")
	}
	shell.run(t, sections[1])
	eventually(t, "a pod can be made", func() error { return c.Create(t.Context(), try.DeepCopy(), client.DryRunAll) })
	shell.run(t, sections[2])
	m := startManager(t)
	eventually(t, "the manager leads", func() error { return m.leads(t, c, true) })
	if out := shell.run(t, sections[3]); strings.Count(out, " released: 2 of 2 pods updated and available") != 2 {
		t.Errorf("the sets are shown as\n%s", out)
	}
	m.stop(t)
	shell.run(t, sections[4])
}

// sectionsOf are the commands of the numbered sections of a guide that have some.
func sectionsOf(t *testing.T, path string) []string {
	t.Helper()
	all, err := guide.Read(filepath.Join(root(t), path))
	if err != nil {
		t.Fatal(err)
	}
	var sections []string
	for _, s := range all {
		if len(s.Commands) > 0 {
			sections = append(sections, strings.Join(s.Commands, ""))
		}
	}
	return sections
}

// terminal is a shell of a test.
type terminal struct{ *guide.Shell }

// startShell starts a shell in a folder of its own, in which config is that of the repository, with kubectl and slipway at hand.
func startShell(t *testing.T) terminal {
	t.Helper()
	dir, tools := t.TempDir(), t.TempDir()
	if err := os.Symlink(filepath.Join(root(t), "config"), filepath.Join(dir, "config")); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(tools, "slipway"), "slipway.dev/slipway/cmd/slipway")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building slipway: %v\n%s", err, out)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["plane"] = &clientcmdapi.Cluster{Server: cluster.Host, CertificateAuthorityData: cluster.CAData}
	config.AuthInfos["administrator"] = &clientcmdapi.AuthInfo{ClientCertificateData: cluster.CertData, ClientKeyData: cluster.KeyData}
	config.Contexts["plane"] = &clientcmdapi.Context{Cluster: "plane", AuthInfo: "administrator"}
	config.CurrentContext = "plane"
	kubeconfig := filepath.Join(tools, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}

	shell, err := guide.Start(t.Context(), dir, "KUBECONFIG="+kubeconfig, "HOME="+tools, "PATH="+tools+":"+binaries+":"+os.Getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shell.Close)
	return terminal{shell}
}

// run has the shell run commands and returns what they print.
func (s terminal) run(t *testing.T, commands string) string {
	t.Helper()
	printed, err := s.Run(commands)
	if err != nil {
		t.Fatal(err)
	}
	return printed
}
