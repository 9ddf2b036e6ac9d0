package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// healthTime is how long a server may take to say that it can serve; it gives its own store two seconds.
const healthTime = 4 * time.Second

// newHealth is for health checks where there is neither a shell nor curl, such as in the container image.
func newHealth(p program) *cobra.Command {
	var o clientOptions
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a server whether it can serve: exit code 0 if so, 1 if not",
		Args:  none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.client(p, cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), healthTime)
			defer cancel()
			var ready struct {
				Status string `json:"status"`
			}
			if err := c.call(ctx, request{method: http.MethodGet, path: "/readyz"}, &ready); err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.out, ready.Status)
			return err
		},
	}
	o.register(cmd)
	return cmd
}
