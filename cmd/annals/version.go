package main

import "runtime/debug"

type versionCmd struct{}

// Run prints the version of this build.
func (versionCmd) Run(c *cli, t terminal) error {
	if c.JSON {
		return printJSON(t, map[string]string{"version": version()})
	}
	return say(t, "annals %s\n", version())
}

// version is the module's version, with the commit where the build knows it.
func version() string { return built() + rigMark }

func built() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return v + " " + s.Value[:12]
		}
	}
	return v
}
