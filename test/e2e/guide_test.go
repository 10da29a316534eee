// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/test/guide"
)

// inGuide are what the guide's manifest and commands say.
const (
	oldImage, newImageOfGuide = "nginxinc/nginx-unprivileged:1.27", "nginxinc/nginx-unprivileged:1.28"
	cellA, cellB              = "CellA", "CellB"
)

// reader is somebody who follows the guide to releases across cells: in a shell, and with the commands of its table.
type reader struct {
	sections []guide.Section
	shell    *guide.Shell
	shop     *shop
}

var _ = Describe("The guide to releases across cells", func() {
	It("works as it says", func(ctx SpecContext) {
		inCells(ctx)
		r := newReader()

		By("1. Create it")
		r.runs(0, 0)
		r.asked(2, 2)
		r.runs(0, 1)
		r.asked(6, 3)
		r.types("slipway confirm shop")
		r.settles(oldImage)

		By("2. Release")
		r.runs(1, 0)
		r.asked(2, 2)
		r.sees(1, 0)

		By("3. Confirm, or not")
		Expect(r.types("slipway confirm shop --dry-run")).To(ContainSubstring("dry run: nothing was changed"))
		r.typesOfTable("slipway confirm shop")
		r.asked(6, 3)
		r.typesOfTable("slipway pause shop")
		Eventually(func() cafev1alpha1.CafeDeploymentPhase { return get(r.shop.d).Status.Phase }).Should(Equal(cafev1alpha1.PausedPhase))
		r.typesOfTable("slipway resume shop")
		r.typesOfTable("slipway undo shop")
		r.waits(oldImage)
		r.typesOfTable("slipway undo shop") // there and back again
		r.waits(newImageOfGuide)
		r.typesOfTable("slipway undo shop --to-revision 3")
		r.waits(oldImage)
		Expect(r.refused("slipway pause inplaceset/shop-cella")).To(ContainSubstring("is kept by CafeDeployment shop"))

		By("4. A cell without room")
		change(r.shop.d, func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.NeedWaitingForConfirm = false })
		r.settles(oldImage)
		fill(ctx, cellA)
		r.types("kubectl scale cafe shop --replicas=12")
		settle(r.shop.d)
		told := r.types("slipway get cafe shop")
		Expect(told).To(ContainSubstring(line(r.sections[3].Shown[0], 0)))
		Expect(told).To(ContainSubstring(strings.Split(line(r.sections[3].Shown[0], 1), "until")[0] + "until"))
		empty(ctx, cellA)

		By("5. Drain traffic first")
		r.runs(4, 0)
		settle(r.shop.d)
		startComponent("--component=lb", "--delay=3s")
		Eventually(func(g Gomega) {
			for _, pod := range r.shop.pods() {
				g.Expect(pod.Finalizers).To(ContainElement(cafev1alpha1.FinalizerPrefixTraffic+"lb"), "who is on pod %s", pod.Name)
			}
		}).Should(Succeed())
		r.runs(1, 0) // the release again
		Eventually(func() string { return r.types("slipway get inplaceset shop-cella") }).Should(ContainSubstring("component lb has to let go of it before it is updated"))
		r.settles(newImageOfGuide)
	})
})

// newReader is somebody with a shell, in which kubectl and slipway are about the namespace of the spec.
func newReader() *reader {
	GinkgoHelper()
	sections, err := guide.Read(filepath.Join(cluster.repository, "docs", "guide", "release-across-cells.md"))
	Expect(err).NotTo(HaveOccurred())
	Expect(sections).To(HaveLen(5), "numbered sections")
	dir := GinkgoT().TempDir()
	config, err := clientcmd.LoadFromFile(localcluster.KubeconfigPath(cluster.root))
	Expect(err).NotTo(HaveOccurred())
	config.Contexts[config.CurrentContext].Namespace = namespace
	kubeconfig := filepath.Join(dir, "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, kubeconfig)).To(Succeed())
	Expect(sections[0].Manifests).To(HaveLen(1))
	Expect(os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(sections[0].Manifests[0]), 0o600)).To(Succeed())
	d := &cafev1alpha1.CafeDeployment{}
	Expect(yaml.UnmarshalStrict([]byte(sections[0].Manifests[0]), d)).To(Succeed())
	d.Namespace = namespace

	path := strings.Join([]string{cluster.program(""), filepath.Join(cluster.root, "bin", "k8s"), os.Getenv("PATH")}, ":")
	shell, err := guide.Start(testCtx, dir, "KUBECONFIG="+kubeconfig, "HOME="+dir, "PATH="+path)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(shell.Close)
	return &reader{sections: sections, shell: shell, shop: &shop{d: d}}
}

// inCells gives the suite's cells the names that the guide has for them, until the spec ends.
func inCells(ctx SpecContext) {
	GinkgoHelper()
	for i, name := range []string{cellA, cellB} {
		relabel(ctx, cells[i], name)
		DeferCleanup(relabel, name, cells[i])
	}
}

func relabel(ctx SpecContext, from, to string) {
	GinkgoHelper()
	list := &corev1.NodeList{}
	Expect(cluster.List(ctx, list, client.MatchingLabels{cafev1alpha1.LabelCell: from})).To(Succeed())
	Expect(list.Items).NotTo(BeEmpty(), "nodes of %s", from)
	for i := range list.Items {
		labelled := list.Items[i].DeepCopy()
		labelled.Labels[cafev1alpha1.LabelCell] = to
		Expect(cluster.Patch(ctx, labelled, client.MergeFrom(&list.Items[i]))).To(Succeed())
	}
}

// runs has the shell run a block of a section.
func (r *reader) runs(section, block int) string {
	GinkgoHelper()
	return r.types(r.sections[section].Commands[block])
}

func (r *reader) types(commands string) string {
	GinkgoHelper()
	printed, err := r.shell.Run(commands)
	Expect(err).NotTo(HaveOccurred())
	return printed
}

// typesOfTable runs a command that the table of section 3 has.
func (r *reader) typesOfTable(command string) {
	GinkgoHelper()
	Expect(r.sections[2].Text).To(ContainSubstring("| `" + command + "` |"))
	r.types(command)
}

// refused runs a command that fails, and returns what it says.
func (r *reader) refused(command string) string {
	GinkgoHelper()
	return r.types("if " + command + "; then false; fi")
}

// asked waits until as many pods are on the template's image, and the group of that number waits for a person.
func (r *reader) asked(updated int, group int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := get(r.shop.d)
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
		g.Expect(now.Status.Phase).To(Equal(cafev1alpha1.WaitingForConfirmPhase))
		g.Expect(now.Status.UpdatedAvailableReplicas).To(Equal(int32(updated)))
		g.Expect(r.types("slipway get cafe shop")).To(ContainSubstring(fmt.Sprintf("group %d of 3 waits for a confirmation", group)))
	}).Should(Succeed())
}

// waits has the block run that waits for a whole release, and confirms from elsewhere until it is over.
func (r *reader) waits(image string) {
	GinkgoHelper()
	ended := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(ended)
		r.runs(2, 0)
	}()
	Eventually(func(g Gomega) {
		if now := get(r.shop.d); now.Status.Phase == cafev1alpha1.WaitingForConfirmPhase && now.Status.ObservedGeneration == now.Generation {
			// It may fail: the status tells of a question a moment longer than it is open.
			_ = cluster.slipway(testCtx, "confirm", "shop", "--namespace", namespace).Run()
		}
		g.Expect(ended).To(BeClosed())
	}).Should(Succeed())
	r.settles(image)
}

// settles waits until all pods are there, and have the image.
func (r *reader) settles(image string) {
	GinkgoHelper()
	settleWithin(inTurn, r.shop.d)
	Expect(images(r.shop.pods())).To(HaveEach(image))
}

var podName = regexp.MustCompile(`shop-cell[ab]-[a-z0-9]+`)

// sees compares what a block shows with what its command prints now, as far as the block goes, but for the names of pods.
func (r *reader) sees(section, block int) {
	GinkgoHelper()
	shown := strings.Split(strings.TrimSpace(r.sections[section].Shown[block]), "\n")
	Expect(shown[0]).To(HavePrefix("$ "))
	Expect(shown[len(shown)-1]).To(Equal("…"))
	printed := strings.Split(strings.ReplaceAll(r.types(strings.TrimPrefix(shown[0], "$ ")), namespace, "default"), "\n")
	shown = shown[1 : len(shown)-1]
	plain := func(lines []string) string { return podName.ReplaceAllString(strings.Join(lines, "\n"), "POD") }
	Expect(plain(printed[:min(len(printed), len(shown))])).To(Equal(plain(shown)), "what the command prints, as far as the guide shows it")
}

// line is a line of a block, without the blanks around it.
func line(block string, n int) string { return strings.TrimSpace(strings.Split(block, "\n")[n]) }
