// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/ground"
)

// componentName is what examples/traffic-component/role.yaml calls the component's service account.
const componentName = "traffic-component"

// startComponent runs examples/traffic-component as its own manifest lets it, for the namespace of the spec and until its
// end. Before that the sets are deleted, since without the component nobody would let go of their pods.
func startComponent(flags ...string) {
	GinkgoHelper()
	cluster.kubectl(testCtx, "apply", "-f", filepath.Join(cluster.repository, "examples", "traffic-component", "role.yaml"))
	token, err := ground.Token(testCtx, cluster.Client, componentName)
	Expect(err).NotTo(HaveOccurred())
	log, err := os.Create(filepath.Join(cluster.root, componentName+".log"))
	Expect(err).NotTo(HaveOccurred())
	defer log.Close() // the process has its own copy
	cmd := exec.Command(cluster.program(componentName), append([]string{
		"--kubeconfig=" + cluster.kubeconfig(componentName, token), "--namespace=" + namespace,
	}, flags...)...)
	cmd.Stdout, cmd.Stderr = log, log
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		Expect(cmd.Process.Signal(syscall.SIGTERM)).To(Succeed(), "the component has ended by itself")
		Expect(cmd.Wait()).To(Succeed())
		content, err := os.ReadFile(log.Name())
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Printf("the component's log:\n%s\n", content)
		Expect(string(content)).NotTo(ContainSubstring("forbidden"), "what the component may do")
	})
	namespace := namespace
	DeferCleanup(func(ctx SpecContext) {
		for _, kind := range []client.Object{&cafev1alpha1.CafeDeployment{}, &cafev1alpha1.InPlaceSet{}} {
			Expect(cluster.DeleteAllOf(ctx, kind, client.InNamespace(namespace))).To(Succeed())
		}
		Eventually(func(g Gomega) {
			left := &corev1.PodList{}
			g.Expect(cluster.List(ctx, left, client.InNamespace(namespace))).To(Succeed())
			g.Expect(left.Items).To(BeEmpty(), "pods of sets that are gone")
		}).WithTimeout(realPatience).Should(Succeed())
	})
}
