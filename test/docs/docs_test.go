// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const root = "../.."

var (
	proof    = regexp.MustCompile("`([a-z0-9/-]+)\\.(Test[A-Za-z0-9]+)`((?: \"[^\"]+\",?)*)")
	sentence = regexp.MustCompile(`"([^"]+)"`)
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
)

// TestProofsExist takes every test, and every sentence of a table, that a page of the reference or the safety argument names as
// proof, and looks it up in the source.
func TestProofsExist(t *testing.T) {
	pages := glob(t, "docs/spec/*.md")
	if len(pages) < 2 {
		t.Fatalf("the reference has only the pages %v", pages)
	}
	pages = slices.DeleteFunc(pages, func(page string) bool { return strings.HasSuffix(page, pageOfDefinitions) })
	pages = append(pages, glob(t, "docs/design/*-safety.md")...)
	words := map[string]map[string]bool{}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) { lookUp(t, words, page) })
	}
}

func lookUp(t *testing.T, words map[string]map[string]bool, page string) {
	_, section, found := strings.Cut(read(t, page), "\n## What proves it\n")
	proofs := proof.FindAllStringSubmatch(section, -1)
	if !found || len(proofs) < 20 {
		t.Fatalf("the page names %d proofs; is the section gone?", len(proofs))
	}
	if tests, mentioned := len(proofs), strings.Count(section, ".Test"); tests != mentioned {
		t.Errorf("%d proofs could be read, but %d are named", tests, mentioned)
	}
	for _, p := range proofs {
		if words[p[1]] == nil {
			words[p[1]] = wordsOf(t, p[1])
		}
		if !words[p[1]]["func "+p[2]] {
			t.Errorf("package %s has no test %s", p[1], p[2])
		}
		for _, s := range sentence.FindAllStringSubmatch(p[3], -1) {
			if !words[p[1]][s[1]] {
				t.Errorf("no test of package %s says %q", p[1], s[1])
			}
		}
	}
}

// wordsOf are the functions, with "func " before their names, and the strings in the tests of a package.
func wordsOf(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	for _, path := range glob(t, filepath.Join(pkg, "*_test.go")) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatalf("parsing: %v", err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				words["func "+n.Name.Name] = true
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil {
					words[text] = true
				}
			}
			return true
		})
	}
	return words
}

// TestLinksLeadSomewhere looks at relative links only: a file that exists, and in it the heading that is named.
func TestLinksLeadSomewhere(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"README*.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/*/*.md"} {
		pages = append(pages, glob(t, pattern)...)
	}
	if len(pages) < 8 {
		t.Fatalf("only %d pages found", len(pages))
	}
	for _, page := range pages {
		for _, l := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(l[1], "://") || strings.HasPrefix(l[1], "mailto:") {
				continue
			}
			path, anchor, _ := strings.Cut(l[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", page, l[1])
			} else if anchor != "" && !anchors(read(t, target))[anchor] {
				t.Errorf("%s links to %s, but no heading there is called so", page, l[1])
			}
		}
	}
}

// anchors are the headings of a page in the form in which links name them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		found[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, h[1])] = true
	}
	return found
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
