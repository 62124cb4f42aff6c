/** Which methods each path takes. */
export class RouteTable {
  private readonly routes = new Map<string, { readonly form: RegExp; readonly methods: Set<string> }>();

  /** `url` as the router writes it: `/v1/jobs/:id`. Patterns that match everything say nothing of a path. */
  add(url: string, methods: readonly string[]): void {
    if (url.includes('*')) return;
    const route = this.routes.get(url) ?? { form: formOf(url), methods: new Set<string>() };
    for (const method of methods) route.methods.add(method);
    this.routes.set(url, route);
  }

  /** Sorted; empty where there is no such path. */
  methodsAt(address: string): string[] {
    const path = address.replace(/[?#].*$/s, '');
    const methods = [...this.routes.values()]
      .filter(({ form }) => form.test(path))
      .flatMap((route) => [...route.methods]);
    return [...new Set(methods)].sort();
  }
}

const formOf = (url: string): RegExp => {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[^\w-]/g, '\\$&')));
  return new RegExp(`^${parts.join('/')}$`);
};
