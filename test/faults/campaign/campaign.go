// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Options say what is played. Empty lists mean all.
type Options struct {
	Repository                string
	Faults, Operations, Kinds []string
	Seed                      uint64
	// Keep leaves the cluster's logs and data behind.
	Keep bool
	// Out receives progress lines for people.
	Out io.Writer
}

// Names are the faults that there are.
func Names() []string {
	var names []string
	for _, f := range faults() {
		names = append(names, f.name)
	}
	return names
}

// Validate fills the empty lists, and says which names are unknown.
func (o *Options) Validate() error {
	var errs []error
	for _, list := range []struct {
		given *[]string
		all   []string
		what  string
	}{{&o.Faults, Names(), "fault"}, {&o.Operations, Operations, "operation"}, {&o.Kinds, Kinds, "kind"}} {
		for _, name := range *list.given {
			if !slices.Contains(list.all, name) {
				errs = append(errs, fmt.Errorf("there is no %s %q; there are %s", list.what, name, strings.Join(list.all, ", ")))
			}
		}
		if len(*list.given) == 0 {
			*list.given = list.all
		}
	}
	return errors.Join(errs...)
}

// Run plays the campaign. What it finds is no error; what keeps it from looking is.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	p, err := open(ctx, o.Repository, slices.Contains(o.Faults, clocksApart), o.Out)
	if err != nil {
		return nil, err
	}
	report = &Report{Seed: o.Seed, Faults: map[string]string{}}
	defer func() {
		keep := o.Keep || err != nil
		err = errors.Join(err, p.close(keep))
		if keep {
			fmt.Fprintf(o.Out, "logs and data are left in %s\n", p.root)
		}
	}()
	for i, f := range faults() {
		if !slices.Contains(o.Faults, f.name) {
			continue
		}
		report.Faults[f.name] = f.what
		began := time.Now()
		s := newStory(p, &f, &o, o.Seed+uint64(i)*1000)
		cells, err := s.tell(ctx)
		report.Cells = append(report.Cells, cells...)
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		if err != nil {
			report.Errors = append(report.Errors, fmt.Sprintf("%s: %v", f.name, err))
			fmt.Fprintf(o.Out, "%s: %v\n", f.name, err)
		}
		for i := range cells {
			c := &cells[i]
			fmt.Fprintf(o.Out, "%-16s %-12s %-9s %s\n", c.Fault, c.Kind, c.Operation, c)
			if c.Waiting != "" {
				fmt.Fprintf(o.Out, "    %s\n", c.Waiting)
			}
			for _, b := range c.Broken {
				fmt.Fprintf(o.Out, "    %s\n", b)
			}
		}
		fmt.Fprintf(o.Out, "%s took %s\n", f.name, time.Since(began).Round(time.Second))
	}
	return report, nil
}
