package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	// DefaultZone is where the times of a schedule are read that names no zone.
	DefaultZone = "UTC"

	maxCronBytes = 256
	// cronExample ends what is said about a cron expression that is refused.
	cronExample = ` An example: "30 8 * * 1-5" (minute, hour, day of month, month, day of week) is 8:30 from Monday to Friday.`
	everyPrefix = "@every "
	allHours    = 1<<24 - 1
)

// cronFields are the fields of an expression with six, and what each takes.
var cronFields = [...]struct{ name, takes string }{
	{"second", "0 to 59"},
	{"minute", "0 to 59"},
	{"hour", "0 to 23"},
	{"day of month", "1 to 31"},
	{"month", "1 to 12 or jan to dec"},
	{"day of week", "0 to 6 (0 is Sunday) or sun to sat"},
}

var cronParser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// rule is a cron expression in a time zone, ready to compute fire times with. They are whole seconds.
type rule struct {
	// dial matches what the clocks of the zone show; nil for "@every".
	dial *cron.SpecSchedule
	zone *time.Location
	// fixed says that it fires in some hours of the day only, so that it means times of day rather than intervals.
	fixed bool

	// every is the interval of "@every", counted from anchor; a zero anchor is the time that is asked about.
	every  time.Duration
	anchor time.Time
}

// parseRule reads a cron expression and the name of a zone. What it refuses is about the fields cron and tz.
func parseRule(expression, zone string) (rule, *Error) {
	loc, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return rule{}, invalid("tz", fmt.Sprintf("%.64q is no time zone known here; give a name of the IANA database, such as \"Europe/Berlin\" or \"UTC\".", zone))
	}
	if len(expression) > maxCronBytes {
		return rule{}, invalidCron(fmt.Sprintf("Give at most %d bytes.", maxCronBytes))
	}
	if interval, ok := strings.CutPrefix(expression, everyPrefix); ok {
		return parseEvery(interval, loc)
	}
	if err := checkCron(expression); err != nil {
		return rule{}, err
	}
	parsed, err := cronParser.Parse(expression)
	dial, ok := parsed.(*cron.SpecSchedule)
	if err != nil || !ok {
		return rule{}, invalidCron("This is no cron expression.")
	}
	dial.Location = time.UTC // see rule.dialed
	return rule{dial: dial, zone: loc, fixed: dial.Hour&allHours != allHours}, nil
}

func invalidCron(detail string) *Error { return invalid("cron", detail+cronExample) }

func parseEvery(interval string, loc *time.Location) (rule, *Error) {
	d, err := time.ParseDuration(strings.TrimSpace(interval))
	if err != nil || d < time.Second || d > MaxDuration || d%time.Second != 0 {
		return rule{}, invalid("cron", `"@every" takes a duration in whole seconds, one at least. An example: "@every 90s".`)
	}
	return rule{zone: loc, every: d}, nil
}

// checkCron says what is wrong with an expression, in more words than the parser has and for some cases it overlooks.
func checkCron(expression string) *Error {
	if strings.Contains(expression, "TZ=") {
		return invalidCron("Give the time zone in the field tz, not in the expression.")
	}
	if strings.HasPrefix(expression, "@") {
		if _, err := cronParser.Parse(expression); err != nil {
			return invalidCron(`Of the names that begin with @ there are "@hourly", "@daily", "@weekly", "@monthly", "@yearly" and "@every" with a duration.`)
		}
		return nil
	}
	fields := strings.Fields(expression)
	known := cronFields[:]
	switch len(fields) {
	case len(known):
	case len(known) - 1:
		known = known[1:]
	default:
		return invalidCron(fmt.Sprintf("A cron expression has 5 fields, or 6 with seconds in front; this one has %d.", len(fields)))
	}
	for i, field := range fields {
		if !parsesAs(field, i, len(fields)) {
			return invalidCron(fmt.Sprintf("The %s is %s, or a list (1,3), a range (1-3) or a step (*/2) of them; %.40q is none of these.",
				known[i].name, known[i].takes, field))
		}
	}
	return nil
}

// parsesAs says whether a field means something as the i-th of n.
func parsesAs(field string, i, n int) bool {
	alone := strings.Fields(strings.Repeat("* ", n))
	alone[i] = field
	parsed, err := cronParser.Parse(strings.Join(alone, " "))
	dial, ok := parsed.(*cron.SpecSchedule)
	if err != nil || !ok {
		return false
	}
	// A field of commas only is an empty set to the parser.
	return dial.Second != 0 && dial.Minute != 0 && dial.Hour != 0 && dial.Dom != 0 && dial.Month != 0 && dial.Dow != 0
}
