export interface DemoFlags {
  readonly port: number;
  readonly keep?: boolean;
  readonly out: string;
}
