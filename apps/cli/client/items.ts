/** The items of an answer, whether it is a page or a plain list. */
export const itemsOf = <Item>(answer: readonly Item[] | { readonly items: readonly Item[] }): readonly Item[] =>
  'items' in answer ? answer.items : answer;
