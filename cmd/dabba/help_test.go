package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpReadsWell looks at the help of every command: no backquotes are left in it, each flag has a meaning and a placeholder
// that says what to give, and no line of it ends in spaces.
func TestHelpReadsWell(t *testing.T) {
	t.Parallel()
	placeholder := regexp.MustCompile(`^[A-Za-z]+(=[a-z]+)?$`)
	count := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		count++
		var out bytes.Buffer
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Errorf("%s: %v", c.CommandPath(), err)
		}
		text := out.String()
		if strings.Contains(text, "`") {
			t.Errorf("%s --help has backquotes:\n%s", c.CommandPath(), text)
		}
		for line := range strings.Lines(text) {
			if trimmed := strings.TrimRight(line, "\n"); trimmed != strings.TrimRight(trimmed, " ") {
				t.Errorf("%s --help has a line that ends in spaces: %q", c.CommandPath(), trimmed)
			}
		}
		if c.HasParent() && (c.Short == "" || strings.HasSuffix(c.Short, ".")) {
			t.Errorf("%s is described as %q", c.CommandPath(), c.Short)
		}
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			name, usage := pflag.UnquoteUsage(f)
			switch {
			case f.Hidden:
			case strings.TrimSpace(usage) == "":
				t.Errorf("%s --%s has no meaning", c.CommandPath(), f.Name)
			case f.Value.Type() == "bool" && name != "":
				t.Errorf("%s --%s takes nothing, and is shown to take a %s", c.CommandPath(), f.Name, name)
			case f.Value.Type() != "bool" && (!placeholder.MatchString(name) || unfit[name]):
				t.Errorf("%s --%s is shown to take a %q: quote the word of its usage that says what", c.CommandPath(), f.Name, name)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(newRoot(program{out: &bytes.Buffer{}, errOut: &bytes.Buffer{}}))
	if count < 15 {
		t.Errorf("looked at %d commands only", count)
	}
}

// unfit are placeholders that say nothing, being names of types, or something wrong.
var unfit = map[string]bool{"string": true, "int": true, "uint32": true, "float": true, "second": true, "strings": true, "stringArray": true}
