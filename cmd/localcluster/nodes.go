// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/localcluster/nodes"
)

func nodeCommand(at *place) *cobra.Command {
	cmd := &cobra.Command{Use: "node", Short: "Make a simulated node full, or cut it off"}
	for _, action := range []struct {
		verb, short, annotation string
		value                   any
	}{
		{"full", "Let the node report no room for further pods", nodes.AnnotationFull, "true"},
		{"free", "Let the node report its room again", nodes.AnnotationFull, nil},
		{"cut", "Silence the node: no lease, no status; the control plane notices after some 50 seconds", nodes.AnnotationCut, "true"},
		{"restore", "Let a node that was cut off report again", nodes.AnnotationCut, nil},
	} {
		cmd.AddCommand(&cobra.Command{
			Use:   action.verb + " NAME...",
			Short: action.short,
			Args:  cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, names []string) error {
				return annotate(cmd, at.root, names, action.annotation, action.value)
			},
		})
	}
	return cmd
}

// annotate sets an annotation of each node, or removes it where value is nil.
func annotate(cmd *cobra.Command, root string, names []string, annotation string, value any) error {
	config, err := localcluster.ClientConfig(root)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: value}}})
	if err != nil {
		return fmt.Errorf("encoding the annotation: %w", err)
	}
	for _, name := range names {
		n, err := client.CoreV1().Nodes().Get(cmd.Context(), name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading node %s: %w", name, err)
		}
		if n.Labels[nodes.LabelSimulated] == "" {
			return fmt.Errorf("node %s is not simulated", name)
		}
		if _, err := client.CoreV1().Nodes().Patch(cmd.Context(), name, apitypes.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("telling node %s: %w", name, err)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "node %s: %s\n", name, cmd.Name())
	}
	return nil
}

// nodesCommand is what `up` starts as a process of its own.
func nodesCommand(at *place) *cobra.Command {
	return &cobra.Command{
		Use:    "nodes",
		Short:  "Stand in for the kubelets of all nodes until stopped (`up` starts this)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := localcluster.NodeSettings(at.root)
			if err != nil {
				return err
			}
			config, err := localcluster.NodesClientConfig(at.root)
			if err != nil {
				return err
			}
			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			return nodes.Run(cmd.Context(), config, settings, log)
		},
	}
}
