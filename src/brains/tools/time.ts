/**
 * The tool `time`: the current time in a zone. Format: ISO 8601 with the offset from UTC. Zones:
 * the IANA time zone database, as Node's ICU has it.
 */
import type { Tool, ToolResult } from './tool.ts';

const zoneLengthMax = 64;
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** @param now milliseconds since 1970 */
export function createTime(now: () => number): Tool {
  return {
    name: 'time',
    description: 'Tells the date, the time and the weekday of now, in a time zone.',
    parameters: {
      type: 'object',
      properties: {
        timezone: {
          type: 'string',
          description: 'An IANA time zone such as Europe/Berlin. UTC where it is left out.',
        },
      },
      required: [],
    },
    effect: 'none',
    reachesOut: false,
    cage: null,
    check(args) {
      const zoneText = args['timezone'] ?? '';
      if (typeof zoneText !== 'string')
        return { kind: 'invalid', text: 'timezone must be a string.' };
      const zone = zoneText.trim() || 'UTC';
      return { kind: 'ready', run: async () => timeIn(zone, now()) };
    },
  };
}

function timeIn(zone: string, at: number): ToolResult {
  const offset = offsetIn(zone, at);
  if (offset === null) {
    const shown = JSON.stringify(zone.slice(0, zoneLengthMax));
    const text = `There is no time zone ${shown}. Use an IANA name such as Europe/Berlin or UTC.`;
    return { kind: 'failed', text };
  }
  const local = new Date(at + offset.minutes * 60_000);
  const weekday = weekdays[local.getUTCDay()];
  const text = `${local.toISOString().slice(0, 19)}${offset.text} (${zone}), a ${weekday}`;
  return { kind: 'done', text, cut: false };
}

/** The zone's offset at that time; null: there is no such zone. */
function offsetIn(zone: string, at: number): { text: string; minutes: number } | null {
  if (zone.length > zoneLengthMax) return null;
  let parts: readonly Intl.DateTimeFormatPart[];
  try {
    const options = { timeZone: zone, timeZoneName: 'longOffset' } as const;
    parts = new Intl.DateTimeFormat('en-US', options).formatToParts(at);
  } catch {
    return null;
  }
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours, minutes] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? ['', '+', '00', '00'];
  const size = Number(hours) * 60 + Number(minutes);
  return { text: `${sign}${hours}:${minutes}`, minutes: sign === '-' ? -size : size };
}
