/** Faults of the transcription of speech. */
import { agent, spoil, type Case } from './cases.ts';

const inAgent = spoil(agent);
const speech = (url: string): readonly string[] => [
  '"access": { "allow": ["123"], "groups": "off" }',
  `"access": { "allow": ["123"], "groups": "off" },
      "speech": { "base_url": «"${url}", "model": "small" }`,
];
/** Without notes of the whole brain, and without an agent that could leak. */
const isPrivate = ['"sensitivity": "public"', '"sensitivity": "private"'] as const;

export const speechCases: readonly Case[] = [
  ...['https://speech.example:8000/v1', 'https://api.openai.com/v1', 'http://93.184.216.34/v1'].map(
    (url) =>
      inAgent(
        `speech to a private brain goes to ${url}`,
        [...speech(url), ...isPrivate],
        url.includes('.example') ? 'speech_elsewhere' : 'speech_far',
        'channels[0].speech.base_url',
      ),
  ),
  inAgent(
    'speech to a private brain goes to another machine at home',
    [...speech('http://10.0.0.2:8000/v1'), ...isPrivate],
    'speech_elsewhere',
    'channels[0].speech.base_url',
  ),
  inAgent(
    'speech goes to another machine without encryption',
    speech('http://speech.example/v1'),
    'not_encrypted',
    'channels[0].speech.base_url',
  ),
];
