// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/localcluster/nodes"
	"slipway.dev/slipway/localcluster/realnode"
)

func upCommand(at *place) *cobra.Command {
	asked := nodes.Defaults()
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Build what is missing, start the cluster, and wait until it can be used",
		Long: `Build what is missing, start the cluster, and wait until it can be used.

On a running cluster it changes the nodes that the flags ask for, and nothing else.
Flags that are not given keep what the cluster has.`,
		Example: `  localcluster up --nodes 12 --zones a,b,c --cells blue,green
  export KUBECONFIG=$(localcluster kubeconfig)`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.IntVar(&asked.Count, "nodes", asked.Count, "number of simulated nodes")
	flags.StringSliceVar(&asked.Zones, "zones", asked.Zones, "zones that the nodes are dealt to (label topology.kubernetes.io/zone)")
	flags.StringSliceVar(&asked.Cells, "cells", asked.Cells, "cells that the nodes are dealt to (label "+nodes.LabelCell+")")
	flags.IntVar(&asked.PodsPerNode, "pods-per-node", asked.PodsPerNode, "room for pods on each node")
	flags.DurationVar(&asked.StartDelay, "start-delay", asked.StartDelay, "time that a pod's containers take to start")
	flags.DurationVar(&asked.ReadyDelay, "ready-delay", asked.ReadyDelay, "time that a started container takes to be ready")
	flags.DurationVar(&asked.RestartDelay, "restart-delay", asked.RestartDelay, "time between the stop of a container and the start of its successor")
	withReal := flags.Bool("real-node", false, "run a kubelet and containerd too, as node "+realnode.Name+" (Linux, root, Debian's packages: `make node-packages`)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		settings, err := merge(at.root, asked, cmd.Flags())
		if err != nil {
			return err
		}
		options := localcluster.Options{Root: at.root, Nodes: &settings, Out: cmd.OutOrStdout()}
		if flags.Changed("real-node") {
			options.RealNode = withReal
		}
		if err := localcluster.Up(cmd.Context(), options); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "\n  export KUBECONFIG=%s\n", localcluster.KubeconfigPath(at.root))
		return err
	}
	return cmd
}

// merge lays the flags that were given over what the cluster has.
func merge(root string, asked nodes.Settings, flags *pflag.FlagSet) (nodes.Settings, error) {
	settings := nodes.Defaults()
	state, err := localcluster.NodeSettings(root)
	switch {
	case err == nil:
		settings = state
	case !errors.Is(err, localcluster.ErrNoCluster):
		return settings, err
	}
	for name, take := range map[string]func(){
		"nodes":         func() { settings.Count = asked.Count },
		"zones":         func() { settings.Zones = asked.Zones },
		"cells":         func() { settings.Cells = asked.Cells },
		"pods-per-node": func() { settings.PodsPerNode = asked.PodsPerNode },
		"start-delay":   func() { settings.StartDelay = asked.StartDelay },
		"ready-delay":   func() { settings.ReadyDelay = asked.ReadyDelay },
		"restart-delay": func() { settings.RestartDelay = asked.RestartDelay },
	} {
		if flags.Changed(name) {
			take()
		}
	}
	return settings, nil
}

func downCommand(at *place) *cobra.Command {
	keep := false
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster, wait until every process is gone, and remove its data",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return localcluster.Down(at.root, keep, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&keep, "keep-data", false, "keep the data, logs and credentials, so that the next `up` goes on with them")
	return cmd
}

func statusCommand(at *place) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say how every process of the cluster is; fails if one is not healthy",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, err := localcluster.Status(cmd.Context(), at.root)
			if err != nil {
				return err
			}
			if state == nil {
				return localcluster.ErrNoCluster
			}
			ill := 0
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			fmt.Fprintln(table, "PROCESS\tSTATE\tPID\tPORT")
			for _, c := range state.Components {
				if c.State != localcluster.Healthy {
					ill++
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Name, c.State, orDash(c.PID), orDash(c.Port))
			}
			if err := table.Flush(); err != nil {
				return fmt.Errorf("printing: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "\n%d nodes, kubeconfig %s\n", state.Nodes.Count, state.Kubeconfig)
			if ill > 0 {
				return fmt.Errorf("%d of %d processes are not healthy: `localcluster up` starts them again", ill, len(state.Components))
			}
			return nil
		},
	}
}

func orDash(number int) string {
	if number == 0 {
		return "-"
	}
	return fmt.Sprint(number)
}

func kubeconfigCommand(at *place) *cobra.Command {
	return &cobra.Command{
		Use:     "kubeconfig",
		Short:   "Print the path of the administrator's kubeconfig",
		Example: `  export KUBECONFIG=$(localcluster kubeconfig)`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := localcluster.NodeSettings(at.root); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), localcluster.KubeconfigPath(at.root))
			return err
		},
	}
}

func buildCommand(at *place) *cobra.Command {
	version := ""
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the Kubernetes binaries that are missing or out of date into bin/k8s",
		Example: `  localcluster build --kubernetes=v1.33.13   # beside the others
  localcluster up --root=bin/kubernetes-v1.33.13`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := localcluster.LayOut(cmd.Context(), at.root, version, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return localcluster.Build(cmd.Context(), root, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&version, "kubernetes", "", "build another version than the pinned one, into bin/kubernetes-<version>, which is a root for clusters of that version")
	return cmd
}
