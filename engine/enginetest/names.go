package enginetest

import "strings"

// names [prefix] [tenant=…] [after=…] [limit=…]: those of the queues, in one line.
func (s *session) names(c command) string {
	of, prefix := tenant, ""
	setString(c, "tenant", &of)
	if len(c.words) > 0 {
		prefix = c.words[0]
	}
	return inOneLine(s.engine.Names(s.Context(), of, prefix, c.value("after"), s.number(c, "limit")))
}

// feeders queue: the queues that name it as their dead-letter queue, in one line.
func (s *session) feeders(c command) string {
	return inOneLine(s.engine.Feeders(s.Context(), s.ref(c)))
}

func inOneLine(names []string, err error) string {
	switch {
	case err != nil:
		return problem(err)
	case len(names) == 0:
		return "none"
	}
	return strings.Join(names, " ")
}
