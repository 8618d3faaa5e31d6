/** The package has no types of its own. */
declare module 'parse-prometheus-text-format' {
  type Metric = {
    readonly labels?: Readonly<Record<string, string>>;
    readonly value?: string;
    readonly buckets?: Readonly<Record<string, string>>;
    readonly count?: string;
    readonly sum?: string;
  };
  type Family = {
    readonly name: string;
    readonly help: string;
    readonly type: 'COUNTER' | 'GAUGE' | 'HISTOGRAM' | 'SUMMARY' | 'UNTYPED';
    readonly metrics: readonly Metric[];
  };
  export default function parse(text: string): readonly Family[];
}
