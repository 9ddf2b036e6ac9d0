package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/json"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

const envPrefix = "DABBA_"

// inlineKeys holds keys themselves instead of the name of a file with them, for places where a secret arrives as an
// environment variable.
const inlineKeys = envPrefix + "AUTH_KEYS_INLINE"

// envName is the environment twin of a flag: DABBA_AUTH_KEYS for --auth-keys.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnv sets the flags that were not given and have a twin in the environment. An empty variable is no twin.
func (p program) fromEnv(flags *pflag.FlagSet) error {
	k := koanf.New(".")
	provider := env.Provider(".", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return p.env },
		TransformFunc: func(name, value string) (string, any) {
			flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, envPrefix), "_", "-"))
			if value == "" || flags.Lookup(flag) == nil {
				return "", nil
			}
			return flag, value
		},
	})
	if err := k.Load(provider, nil); err != nil {
		return fmt.Errorf("read the environment: %w", err)
	}
	return eachSetting(flags, k, func(name, value string) error {
		if err := setDefault(flags, name, value); err != nil {
			return usagef("%s: %w", envName(name), valueError(err))
		}
		return nil
	})
}

// fromFile does the same from a YAML or JSON file, whose keys are the names of the flags. A key that is no flag is a
// mistake. What the environment has set before stays.
func fromFile(flags *pflag.FlagSet, path string) error {
	var parser koanf.Parser = yaml.Parser()
	if strings.EqualFold(filepath.Ext(path), ".json") {
		parser = json.Parser()
	}
	k := koanf.New(".")
	if err := k.Load(file.Provider(path), parser); err != nil {
		return usagef("config file %s: %w", path, err)
	}
	return eachSetting(flags, k, func(name, value string) error {
		flag := strings.ReplaceAll(name, "_", "-")
		if f := flags.Lookup(flag); f == nil || flag == "config" || flag == "help" {
			return usagef("config file %s: unknown key %q: the keys are the flags of dabba serve, like data or auth-keys", path, name)
		}
		if err := setDefault(flags, flag, value); err != nil {
			return usagef("config file %s: %s: %w", path, name, valueError(err))
		}
		return nil
	})
}

// setDefault sets a flag unless something that counts more has set it.
func setDefault(flags *pflag.FlagSet, name, value string) error {
	if flags.Changed(name) {
		return nil
	}
	return flags.Set(name, value)
}

// eachSetting visits keys in order, so that of several mistakes the same one is reported every time.
func eachSetting(flags *pflag.FlagSet, k *koanf.Koanf, visit func(name, value string) error) error {
	for _, name := range slices.Sorted(slices.Values(k.Keys())) {
		value := ""
		switch v := k.Get(name).(type) {
		case string:
			value = v
		case bool, int, int64, float64:
			value = fmt.Sprint(v)
		case []any:
			if !isList(flags, name) {
				return usagef("setting %s is a single value, not %v", name, v)
			}
			items := make([]string, len(v))
			for i := range v {
				items[i] = fmt.Sprint(v[i])
			}
			value = strings.Join(items, ",")
		default:
			return usagef("setting %s is a single value, not %v", name, v)
		}
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}

// isList says whether a flag may be given several times.
func isList(flags *pflag.FlagSet, name string) bool {
	f := flags.Lookup(strings.ReplaceAll(name, "_", "-"))
	if f == nil {
		return false
	}
	_, ok := f.Value.(pflag.SliceValue)
	return ok
}

// strayEnv lists variables with our prefix that no command reads: most likely misspelled.
func (p program) strayEnv(flagSets ...*pflag.FlagSet) []string {
	known := map[string]bool{inlineKeys: true}
	for _, flags := range flagSets {
		flags.VisitAll(func(f *pflag.Flag) { known[envName(f.Name)] = true })
	}
	var stray []string
	for _, entry := range p.env {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, envPrefix) && !known[name] {
			stray = append(stray, name)
		}
	}
	slices.Sort(stray)
	return stray
}

// lookupEnv is one variable, or "".
func (p program) lookupEnv(name string) string {
	for _, entry := range slices.Backward(p.env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
