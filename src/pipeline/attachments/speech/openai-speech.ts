/**
 * Speech by a server with the transcription endpoint of the OpenAI API: whisper.cpp, faster-whisper
 * and others (platform.openai.com/docs/api-reference/audio/createTranscription).
 */
import { failure, type Failure } from '../../../domain/failure.ts';
import { keptReading } from '../../../domain/kept-text.ts';
import type { Sensitivity } from '../../../domain/sensitivity.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import type { HttpClient } from '../../../lib/http-client.ts';
import type { HttpResult } from '../../../lib/http-client/exchange.ts';
import { multipart } from '../../../lib/pinned-client.ts';
import { farAddressCode } from '../../../lib/private-connector.ts';
import type { Stop } from '../../../lib/stop.ts';
import type { Speech, Spoken, Transcript } from './speech.ts';

export type SpeechOptions = {
  /** Without trailing slashes. */
  readonly baseUrl: string;
  readonly model: string;
  readonly http: HttpClient;
};

const answerBytesMax = 1024 * 1024;
/** Servers refuse audio that is shorter than a tenth of a second. */
const probeMs = 250;

export function createSpeech(options: SpeechOptions): Speech {
  return new OpenaiSpeech(options);
}

class OpenaiSpeech implements Speech {
  readonly #options: SpeechOptions;

  constructor(options: SpeechOptions) {
    this.#options = options;
  }

  transcribe(spoken: Spoken, stop: Stop): Promise<Transcript> {
    return this.#send(spoken, stop);
  }

  async look(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Failure | null> {
    const recording = { bytes: silence(probeMs), type: 'audio/wav', name: 'silence.wav' };
    const answer = await this.#send({ ...recording, sensitivity, deadlineAt });
    if (answer.kind === 'heard' || answer.failure.kind === 'empty_answer') return null;
    return answer.failure;
  }

  async #send(spoken: Spoken, stop?: Stop): Promise<Transcript> {
    const { http, baseUrl, model } = this.#options;
    const { bytes, name, sensitivity, deadlineAt } = spoken;
    const type = spoken.type ?? 'application/octet-stream';
    const form = multipart([
      { name: 'model', value: model },
      { name: 'response_format', value: 'json' },
      { name: 'file', value: bytes, file: { name, type } },
    ]);
    const request = {
      method: 'POST',
      url: new URL(`${baseUrl}/audio/transcriptions`),
      headers: { 'content-type': form.contentType, accept: 'application/json' },
      body: form.body,
      deadlineAt,
      bodyBytesMax: answerBytesMax,
      nearOnly: sensitivity === 'private',
    } as const;
    return transcriptOf(await http.send(request, stop));
  }
}

function transcriptOf(result: HttpResult): Transcript {
  if (result.kind === 'fault') return { kind: 'failed', failure: failureOfFault(result) };
  const { status, body } = result;
  if (status !== 200) return { kind: 'failed', failure: failureOfStatus(status, body) };
  const text = textIn(body);
  if (text === null) return { kind: 'failed', failure: failure('malformed_answer', { status }) };
  if (text === '') {
    return { kind: 'failed', failure: failure('empty_answer', { detail: 'nothing was heard' }) };
  }
  return { kind: 'heard', text };
}

/** @returns null: this is no transcript */
function textIn(body: string): string | null {
  try {
    const { text } = JSON.parse(body) as { text?: unknown };
    return typeof text === 'string' ? keptReading(text.trim(), ' ') : null;
  } catch {
    return null;
  }
}

function failureOfFault({ fault, code }: Extract<HttpResult, { kind: 'fault' }>): Failure {
  return failure(code === farAddressCode ? 'far_address' : fault);
}

function failureOfStatus(status: number, body: string): Failure {
  if (status === 401 || status === 403) return failure('unauthorized', { status });
  if (status === 429) return failure('rate_limited', { status });
  if (status === 503) return failure('overloaded', { status });
  if (status >= 500) return failure('server_error', { status });
  if (lacksModel(body)) return failure('not_found', { status, detail: noModel });
  if (status === 404 || status === 405) {
    return failure('not_found', { status, detail: noTranscriptions });
  }
  return failure(status < 400 ? 'redirected' : 'rejected', { status });
}

const noModel = 'the speech server does not have that model';
const noTranscriptions = 'nothing at that address takes POST …/audio/transcriptions';

/** Servers share no error code for this; these are the words of OpenAI, speaches and vLLM. */
const absentModel = [
  /model_not_found/,
  /\bmodel\b.{0,200}not (?:exist|found|installed|supported|available)/is,
  /(?:unknown|invalid|no such) model/i,
];

function lacksModel(body: string): boolean {
  const start = body.slice(0, 2_000);
  return absentModel.some((words) => words.test(start));
}

/**
 * Format: WAV, PCM of 16 bits
 * (https://www.mmsp.ece.mcgill.ca/Documents/AudioFormats/WAVE/WAVE.html).
 */

const samplesPerSecond = 16_000;
const bytesPerSample = 2;
const headerBytes = 44;

/** A silent recording. */
export function silence(ms: number): Uint8Array {
  const dataBytes = Math.round((samplesPerSecond * ms) / 1_000) * bytesPerSample;
  const wav = Buffer.alloc(headerBytes + dataBytes);
  wav.write('RIFF', 0, 'latin1');
  wav.writeUInt32LE(headerBytes - 8 + dataBytes, 4);
  wav.write('WAVEfmt ', 8, 'latin1');
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(samplesPerSecond, 24);
  wav.writeUInt32LE(samplesPerSecond * bytesPerSample, 28);
  wav.writeUInt16LE(bytesPerSample, 32);
  wav.writeUInt16LE(bytesPerSample * 8, 34);
  wav.write('data', 36, 'latin1');
  wav.writeUInt32LE(dataBytes, 40);
  return wav;
}
