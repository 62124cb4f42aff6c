/** What one benchmark measured: a row for each setting, and what a reader must know to judge the numbers. */
export interface BenchResult {
  readonly name: string;
  readonly rows: Record<string, string | number>[];
  readonly notes: string[];
}
