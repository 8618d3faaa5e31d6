import type { ComponentType } from 'react';
import { FormView } from '../form/form-view.tsx';
import { GraphView } from '../graph/graph-view.tsx';
import { JsonView } from '../json/json-view.tsx';
import { ReviewView } from '../review/review-view.tsx';
import { TemplateView } from '../templates/template-view.tsx';
import { TryView } from '../try/try-view.tsx';

type BuilderView = {
  readonly name: string;
  readonly title: string;
  readonly shows: ComponentType;
};

/** The tabs of the middle. To add one: write a component, and a line here. */
export const views: readonly [BuilderView, ...BuilderView[]] = [
  { name: 'graph', title: 'Graph', shows: GraphView },
  { name: 'form', title: 'Form', shows: FormView },
  { name: 'json', title: 'JSON', shows: JsonView },
  { name: 'try', title: 'Try', shows: TryView },
  { name: 'templates', title: 'Templates', shows: TemplateView },
  { name: 'review', title: 'Review', shows: ReviewView },
];
