import type { ComponentType } from 'react';
import { JsonView } from '../json/json-view.tsx';

type BuilderView = {
  readonly name: string;
  readonly title: string;
  readonly shows: ComponentType;
};

/** The tabs of the middle. To add one: write a component, and a line here. */
export const views: readonly [BuilderView, ...BuilderView[]] = [
  { name: 'json', title: 'JSON', shows: JsonView },
];
