// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"slipway.dev/slipway/test/builders"
)

var _ = Describe("kubectl", func() {
	It("installs Slipway again without changing anything, and the manifest's pods are accepted", func(ctx SpecContext) {
		install := filepath.Join(cluster.repository, "config", "install.yaml")
		Expect(cluster.kubectl(ctx, "diff", "--server-side", "-f", install)).To(BeEmpty())
		cluster.kubectl(ctx, "rollout", "status", "--namespace", systemNamespace, "--timeout=60s", "deployment/"+managerName)
	})

	It("shows CloneSets in columns", func(ctx SpecContext) {
		created(builders.CloneSet("web").Replicas(3))
		columns := func(args ...string) (titles, row []string) {
			lines := strings.Split(strings.TrimSpace(cluster.kubectl(ctx, append([]string{"get", "clone", "-n", namespace}, args...)...)), "\n")
			Expect(lines).To(HaveLen(2))
			return strings.Fields(lines[0]), strings.Fields(lines[1])
		}
		titles, row := columns()
		Expect(titles).To(Equal([]string{"NAME", "DESIRED", "UPDATED", "UPDATED_READY", "UPDATED_AVAILABLE", "READY", "TOTAL", "AGE"}))
		Expect(row[:7]).To(Equal([]string{"web", "3", "3", "3", "3", "3", "3"}))
		titles, row = columns("-o", "wide")
		Expect(titles[8:]).To(Equal([]string{"CONTAINERS", "IMAGES", "SELECTOR"}))
		Expect(row[8:]).To(Equal([]string{builders.Container, image("v1"), "app=web"}))
	})

	It("applies the samples, scales them, and waits for them", func(ctx SpecContext) {
		samples := filepath.Join(cluster.repository, "config", "samples")
		cluster.kubectl(ctx, "apply", "-n", namespace, "-f", samples)
		cluster.kubectl(ctx, "wait", "-n", namespace, "--for=condition=Ready", "--timeout=60s", "clonesets", "--all")
		cluster.kubectl(ctx, "scale", "-n", namespace, "--replicas=2", "clonesets", "--all")
		cluster.kubectl(ctx, "wait", "-n", namespace, "--for=jsonpath={.status.replicas}=2", "--timeout=60s", "clonesets", "--all")
	})
})
