import { themes, useTheme, type Theme } from './theme.ts';

/** Selects light, dark, or the system's theme. */
export function ThemeSwitch() {
  const [theme, setTheme] = useTheme();
  return (
    <label className="flex items-center gap-1.5 text-sm text-soft">
      <span>Theme</span>
      <select
        value={theme}
        onChange={(event) => setTheme(event.target.value as Theme)}
        className="min-h-7 rounded-md border border-edge bg-card px-1.5 text-ink"
      >
        {themes.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
